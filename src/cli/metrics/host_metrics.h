/* SPDX-License-Identifier: MIT
 *
 * A scan of the whole host as metrics.
 */
#ifndef UNSTALL_CLI_HOST_METRICS_H
#define UNSTALL_CLI_HOST_METRICS_H

#include "host.h"
#include "openmetrics.h"

void host_metrics_write(FILE *out, struct scan_host *h, enum metrics_form form);

#endif
