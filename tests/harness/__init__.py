# SPDX-License-Identifier: MIT
"""The parts that all black-box tests share: the library's place, plain children,
strace, peers on loopback."""

from .cgroups import cgroup, cgroup_mount
from .client import (ClientRun, PROGRAMS, STALL_MS, WARM, judged, program, refuses, run_client,
                     run_judged, run_with_peer)
from .command import (COMMAND, VERDICT_CODES, command_of_everybody, control_of, on_terminal, unstall,
                      with_capabilities)
from .compile import CC, compile_c, compile_go, compile_rust
from .directed import directed_cases, run_directed
from .install import installed, only
from .library import (BUILD_ROOT, CURING_MODES, HOOK_LIB, IS_32, LIB, MODES, PASSING_MODES,
                      PROCESSOR, ROW, SOURCE_ROOT, WIDE, bare_env, mode_env, need_root, preload_env, skip)
from .manual import filled_manual
from .namespaces import need_namespaces, started, two_namespaces, within
from .patience import least, patiently, wait_for, wait_until
from .peers import AnsweringPeer, Connection, CrossingPeer, Peer, ScriptedPeer, SilentPeer, pattern
from .podman import add_files, needed_by, podman_env, remove_cgroups
from .ports import free_port
from .process import AS_NOBODY, NOBODY, Finished, descriptors_of, is_loaded, run, second_thread, spawned
from .reports import read_reports, report_pattern, total
from .stats_file import (DESTINATION, KEEP, LISTENER, MODE_NUMBERS, NO_ARM, StatsFile, stats_directory,
                      stats_flag, stats_in, stats_files_in, wait_for_stats_file, write_control)
from .servers import REQUEST, ServerRun, request_all, started_server
from .shape import added, is_promised, program_calls, program_shapes, shape, start_shapes
from .strace import BEGIN, END, Call, PAUSE, Trace, run_strace
from .tcp_info import data_segments_in
from .terminal import ShellTerminal
