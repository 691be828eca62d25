"""A live rankcorr-collect that is killed and started again at the same address, while voters vote."""

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.service.collect.live import COMMAND
from tests.service.live import Server, running


class Killed:
    """A server of two workers on one ledger, at an address that stays.

    Parameters
    ----------
    folder : Path
        For its output.
    ledger : str
        Path or URL.
    environment : mapping, optional
        Further settings.
    """

    def __init__(self, folder: Path, ledger: str, environment: Mapping[str, str] | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address: tuple[str, int] = free.getsockname()
        self._folder = folder
        self._environment = {
            **(environment or {}),
            "RANKCORR_LEDGER": ledger,
            "RANKCORR_BIND": f"127.0.0.1:{self.address[1]}",
        }
        self._stack = ExitStack()

    def __enter__(self) -> "Killed":
        self.server: Server = self._stack.enter_context(running(self._folder, self._environment, COMMAND))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def kill_worker(self, rng: random.Random) -> None:
        """Kill one of the workers; the server starts another."""
        os.kill(rng.choice(self.server.workers()), signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill all processes of the server at once, and start it again."""
        os.killpg(self.server.process.pid, signal.SIGKILL)
        self._stack.close()
        self.__enter__()


def kills(killed: Killed, n_kills: int, *, pause: tuple[float, float], seed: int = 1) -> threading.Thread:
    """A thread that kills a worker and the whole server in turn, with pauses by chance between; it is not started."""
    rng = random.Random(seed)

    def work() -> None:
        for number in range(n_kills):
            time.sleep(rng.uniform(*pause))
            if number % 2:
                killed.kill_all()
            else:
                killed.kill_worker(rng)
        time.sleep(pause[1])

    return threading.Thread(target=work)
