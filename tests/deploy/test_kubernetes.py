# SPDX-License-Identifier: MIT
"""data/kubernetes and the Deployment of docs/deploy.md: what they make together is valid for Kubernetes, and
gives the library to the container.  No cluster and no kubectl are needed."""

import copy
import re
import shutil
import subprocess

import pytest
import yaml
from made import run, with_command
from manifests import Schemas

from harness import SOURCE_ROOT, bare_env

FOLDER = SOURCE_ROOT / "data/kubernetes"
PAGE = (SOURCE_ROOT / "docs/deploy.md").read_text(encoding="utf-8").split("\n## Kubernetes\n")[1]
RELEASES = ["1.25.0", "1.37.0"]  # the oldest and the newest that the schemas have


@pytest.fixture(name="schemas", scope="module", params=RELEASES)
def schemas_of_a_release(request):
    return Schemas(request.param)


def deployment():
    """The vendor's, of the page."""
    return yaml.safe_load(re.search(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S).group(1))


def patch():
    return yaml.safe_load((FOLDER / "unstall.yaml").read_text(encoding="utf-8"))


def rendered(schemas):
    return schemas.merged(deployment(), patch())


def test_the_kustomization_names_the_files_that_there_are():
    found = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
    assert found["resources"] == ["deployment.yaml"]
    assert found["patches"] == [{"path": "unstall.yaml"}]
    assert "`deployment.yaml`" in PAGE
    assert (patch()["kind"], patch()["metadata"]) == (deployment()["kind"], deployment()["metadata"])


def test_what_they_make_together_is_valid(schemas):
    assert schemas.complaints(deployment()) == []
    assert schemas.complaints(rendered(schemas)) == []


DAMAGES = {
    "containers.0.volumeMounts.0": ("readOnly", "yes"),
    "initContainers.0": ("arguments", ["/unstall"]),
    "volumes.0": ("emptydir", {}),
    "containers.0.env.0": ("value", 1),
    "initContainers.0.securityContext.capabilities": ("drop", "ALL"),
}


@pytest.mark.parametrize("place", DAMAGES)
def test_the_schema_finds_what_is_wrong(schemas, place):
    whole = rendered(schemas)
    at = whole["spec"]["template"]["spec"]
    for part in place.split("."):
        at = at[int(part)] if part.isdigit() else at[part]
    key, value = DAMAGES[place]
    at[key] = value
    (complaint,) = schemas.complaints(whole)
    assert complaint.startswith("spec.template.spec." + place)


def test_the_container_gets_the_library(schemas):
    pod = rendered(schemas)["spec"]["template"]["spec"]
    (volume,), (init,), (app,) = pod["volumes"], pod["initContainers"], pod["containers"]
    assert volume["emptyDir"] is not None
    assert {mount["name"] for mount in init["volumeMounts"] + app["volumeMounts"]} == {volume["name"]}
    assert init["args"] == [init["volumeMounts"][0]["mountPath"]]
    (preload,) = [one["value"] for one in app["env"] if one["name"] == "LD_PRELOAD"]
    assert preload == app["volumeMounts"][0]["mountPath"] + "/libunstall.so"
    assert (app["name"], app["image"]) == ("app", "app")


def not_restricted(context):
    """What the profile "restricted" of Kubernetes' Pod Security Standards misses in a securityContext."""
    needs = {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
             "seccompProfile": {"type": "RuntimeDefault"}}
    missing = [name for name, value in needs.items() if context.get(name) != value]
    return missing + (["runAsUser"] if context.get("runAsUser") == 0 else [])


def test_the_init_container_may_run_in_a_restricted_namespace(schemas):
    """It names a user: the image has none, and Kubernetes refuses runAsNonRoot without one."""
    (init,) = rendered(schemas)["spec"]["template"]["spec"]["initContainers"]
    context = init["securityContext"]
    assert not_restricted(context) == []
    assert context["runAsUser"] == 65534
    for name in ("runAsNonRoot", "allowPrivilegeEscalation", "capabilities", "seccompProfile"):
        assert not_restricted({key: value for key, value in context.items() if key != name}) == [name]
    assert not_restricted({**context, "runAsUser": 0}) == ["runAsUser"]


def test_what_the_vendor_has_stays(schemas):
    """Other containers, variables, mounts and volumes."""
    vendor = deployment()
    spec = vendor["spec"]["template"]["spec"]
    spec["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    spec["containers"].append({"name": "other", "image": "other"})
    spec["volumes"] = [{"name": "data", "emptyDir": {}}]
    before = copy.deepcopy(vendor)
    whole = schemas.merged(vendor, patch())
    assert vendor == before and schemas.complaints(whole) == []
    after = whole["spec"]["template"]["spec"]
    assert [one["name"] for one in after["containers"]] == ["app", "other"]
    assert after["containers"][1] == {"name": "other", "image": "other"}
    assert {one["name"] for one in after["containers"][0]["env"]} == {"A", "LD_PRELOAD", "UNSTALL_MODE"}
    assert {one["name"] for one in after["volumes"]} == {"data", "unstall"}


def blocks():
    """Of the shell."""
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.split("\n## ")[0], re.M | re.S)


def kubectl_makes_the_same_of_it(tmp_path):
    """The block of the page, against our own merge."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(deployment()), encoding="utf-8")
    whole = yaml.safe_load(run("bash", "-euc", blocks()[0], cwd=tmp_path, env=bare_env()))
    assert whole == rendered(Schemas(RELEASES[-1]))


if shutil.which("kubectl"):  # no package of the tests brings it
    test_kubectl_makes_the_same_of_it = kubectl_makes_the_same_of_it


def test_the_command_by_which_a_node_is_watched():
    """It watches this machine here.  Its code is 1 where something stalls."""
    render, watch = blocks()
    assert render.startswith("kubectl kustomize .")
    done = subprocess.run(["bash", "-uc", watch], env=with_command(bare_env()), check=False, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode in (0, 1, 2) and "Scanned" in done.stdout, done
