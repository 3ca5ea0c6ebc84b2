# SPDX-License-Identifier: MIT
"""Manifests of Kubernetes: the schemas of its releases, and the strategic merge of a patch.

The schemas are those of the package kubernetes-validate (PyPI): Kubernetes' own, strict, so that an unknown
key is an error.  They also say by which key the members of a list are merged, which is all that a strategic
merge needs of Kubernetes.
"""

import copy
import json
import zipfile

import jsonschema
from made import run
from roots import locked

PACKAGE = "kubernetes-validate==1.37.0"
DEFINITIONS = "https://kubernetes.io/api/_definitions.json"  # never fetched: it is in the package


class Schemas:
    """Of one release: "1.37.0"."""

    def __init__(self, release):
        with locked("kubernetes-schemas") as folder:
            if not list(folder.glob("*.whl")):
                run("/usr/bin/python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
                    PACKAGE)
            (wheel,) = folder.glob("*.whl")
        self.place = f"kubernetes_validate/kubernetes-json-schema/v{release}-local-strict"
        with zipfile.ZipFile(wheel) as archive:
            self.deployment = json.loads(archive.read(f"{self.place}/deployment-apps-v1.json"))
            self.definitions = json.loads(archive.read(f"{self.place}/_definitions.json"))

    def complaints(self, deployment):
        """PATH: MESSAGE of each error."""
        resolver = jsonschema.RefResolver("", self.deployment, store={DEFINITIONS: self.definitions})
        validator = jsonschema.Draft7Validator(self.deployment, resolver=resolver)
        return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}"
                for error in validator.iter_errors(deployment)]

    def _followed(self, schema):
        while "$ref" in schema:
            schema = self.definitions["$defs"][schema["$ref"].rpartition("/")[2]]
        return schema

    def merged(self, document, patch, schema=None):
        """The document with a strategic merge patch applied; without its directives ($patch)."""
        schema = self._followed(schema or self.deployment)
        document = copy.deepcopy(document)
        for key, value in patch.items():
            below = schema.get("properties", {}).get(key, {})
            if isinstance(value, dict):
                document[key] = self.merged(document.get(key) or {}, value, below)
            elif isinstance(value, list) and "x-kubernetes-patch-merge-key" in below:
                document[key] = self._merged_list(document.get(key) or [], value, below)
            else:
                document[key] = value
        return document

    def _merged_list(self, present, patch, schema):
        by = schema["x-kubernetes-patch-merge-key"]
        members = {member[by]: member for member in present}
        for member in patch:
            members[member[by]] = self.merged(members.get(member[by], {}), member, schema["items"])
        return list(members.values())
