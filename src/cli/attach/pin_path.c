/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "attach.h"
#include "pins.h"

void attach_pin_path(const char *name, const char *pin, char path[PIN_PATH]) {
    snprintf(path, PIN_PATH, ATTACH_FOLDER "/%s%s%s", name, pin[0] ? "/" : "", pin);
}
