# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads of a run: stages, messages, progress, and what failed.

All else goes to the log file.
"""

from __future__ import annotations

DOCUMENTATION = r"""
name: quiet
type: stdout
short_description: Shows stages, messages, progress and failures; everything else is in Ansible's log file
version_added: 0.1.0
description:
  - Prints the name of each play, the messages of C(ansible.builtin.debug), warnings, and the failures that ended the
    run. The progress of a campaign is shown as with any other callback.
  - All that the default callback would print goes to the log file of Ansible, if one is set (C(ANSIBLE_LOG_PATH)).
  - A failure that a C(rescue) took care of is in the log file alone.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - Set as stdout callback in the configuration, C(stdout_callback = offload.lab.quiet) or C(ANSIBLE_STDOUT_CALLBACK)
"""

from typing import Any

from ansible.executor.stats import AggregateStats
from ansible.playbook.play import Play
from ansible.plugins.callback.default import CallbackModule as DefaultCallback
from ansible.utils.display import Display

from ..plugin_utils._untrusted.texts import lines

Result = Any  # CallbackTaskResult; in ansible-core 2.18 TaskResult


class _Log:
    """A display whose output goes to the log file alone; warnings and the like are shown as usual."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def __getattr__(self, name: str) -> Any:
        return getattr(self._display, name)

    def display(self, msg: str, *args: Any, **kwargs: Any) -> None:
        kwargs["log_only"] = True
        self._display.display(msg, *args, **kwargs)

    def banner(self, msg: str, *_args: Any, **_kwargs: Any) -> None:
        self.display(f"\n{msg} ***")

    def _error(self, *_args: Any, **_kwargs: Any) -> None:
        """The failed task's own lines say it in the log."""


Content = dict[str, Any]  # of a result, as a module returns it


def _content(result: Result) -> Content:
    """Return the result's dictionary; ansible-core 2.18 knows it by another name only."""
    return getattr(result, "result", None) or result._result


def _host(result: Result) -> str:
    """Return the name of the host of a result."""
    return str(getattr(result, "host", None) or result._host)


class CallbackModule(DefaultCallback):
    """The default callback into the log file, and a few lines on the screen."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "offload.lab.quiet"

    _display: Display | _Log

    def __init__(self) -> None:
        super().__init__()
        self._screen = self._display
        self._display = _Log(self._screen)
        self._failures: dict[str, str] = {}  # {host: its message}
        self._items: dict[str, list[str]] = {}  # {host: messages of items that failed in its loop}

    def _show(self, text: str, **kwargs: Any) -> None:
        for line in lines(text):
            self._screen.display(line, screen_only=True, **kwargs)

    def v2_playbook_on_play_start(self, play: Play) -> None:
        super().v2_playbook_on_play_start(play)
        self._show(f"- {play.get_name().strip()}")

    def v2_runner_on_ok(self, result: Result) -> None:
        super().v2_runner_on_ok(result)
        task = getattr(result, "task", None) or result._task
        if task.action in ("debug", "ansible.builtin.debug", "ansible.legacy.debug"):
            message = _content(result).get("msg", "")
            for line in message if isinstance(message, list) else str(message).splitlines():
                self._show(f"  {line}")

    def v2_runner_on_failed(self, result: Result, ignore_errors: bool = False) -> None:
        super().v2_runner_on_failed(result, ignore_errors=ignore_errors)
        if not ignore_errors:
            self._remember(result)
        self._items.pop(_host(result), None)

    def v2_runner_item_on_failed(self, result: Result) -> None:
        super().v2_runner_item_on_failed(result)
        messages = self._items.setdefault(_host(result), [])
        message = str(_content(result).get("msg", "failed"))
        if message not in messages:
            messages.append(message)

    def v2_runner_on_unreachable(self, result: Result) -> None:
        super().v2_runner_on_unreachable(result)
        self._remember(result)

    def _remember(self, result: Result) -> None:
        host = _host(result)
        task = getattr(result, "task", None) or result._task
        messages = self._items.get(host) or [str(_content(result).get("msg", "failed"))]
        self._failures[host] = f"{host}: {task.get_name()}: {'; '.join(messages)}"

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:
        super().v2_playbook_on_stats(stats)
        for host, text in self._failures.items():
            if stats.failures.get(host) or stats.dark.get(host):
                self._show(text, color="red", stderr=True)
