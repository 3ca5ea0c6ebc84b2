/* SPDX-License-Identifier: MIT */
#include "clock.h"

uint64_t clock_stopped;
