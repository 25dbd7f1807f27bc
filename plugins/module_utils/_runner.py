# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door through which the collection starts processes on a node: argument lists, never a shell string."""
from __future__ import annotations

import os
import subprocess

from ansible_collections.offload.lab.plugins.module_utils._errors import CommandError

# sbin is not on every user's PATH, and tools of other languages must not change what we parse.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Result(object):
    """What a finished process left: ``argv``, exit status ``rc``, and the texts ``out`` and ``err``."""

    def __init__(self, argv, rc, out, err):
        self.argv = argv
        self.rc = rc
        self.out = out
        self.err = err


def in_netns(argv, netns=None):
    """Return ``argv`` as it runs inside the named network namespace, or unchanged without one."""
    return ["ip", "netns", "exec", netns] + list(argv) if netns else list(argv)


def environment():
    """Return the environment of every process that is started: plain C locale, system directories first."""
    return dict(os.environ, LC_ALL="C", LANGUAGE="C",
                PATH=SEARCH_PATH + os.pathsep + os.environ.get("PATH", ""))


def start(argv, netns=None, **options):
    """Start a process and return its ``subprocess.Popen``; ``options`` go to Popen."""
    argv = in_netns(argv, netns)
    try:
        # AnsibleModule.run_command is for modules only, and cannot start what goes on beside the module.
        # pylint: disable-next=ansible-bad-function
        return subprocess.Popen(argv, env=environment(), close_fds=True, universal_newlines=True, **options)
    except OSError as error:
        raise CommandError("could not be started ({0})".format(error.strerror), argv,
                           to_do="Install the package that provides {0!r}.".format(argv[0]))


def run(argv, stdin=None, netns=None, timeout=60, check=True):
    """Run a process to its end and return its :class:`Result`.

    ``timeout`` is in seconds. With ``check`` an exit status other than 0 raises :class:`CommandError`.
    """
    process = start(argv, netns, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise CommandError("did not end within {0} s".format(timeout), process.args)
    if check and process.returncode != 0:
        raise CommandError("failed with exit status {0}: {1}".format(process.returncode, (err or out).strip()),
                           process.args, process.returncode, err)
    return Result(process.args, process.returncode, out, err)
