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

from tests.service.collect.crowd import Crowd
from tests.service.collect.live import COMMAND
from tests.service.live import Server, eventually, running


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
        self._one = threading.Lock()  # what is killed is killed after all has been started

    def __enter__(self) -> "Killed":
        self.server: Server = self._stack.enter_context(running(self._folder, self._environment, COMMAND))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def kill_worker(self, rng: random.Random) -> None:
        """Kill one of the workers; the server starts another."""
        with self._one:
            os.kill(rng.choice(eventually(self.server.workers, what="a worker")), signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill all processes of the server at once, and start it again."""
        with self._one:
            os.killpg(self.server.process.pid, signal.SIGKILL)
            self._stack.close()
            self.__enter__()


def kills(killed: Killed, crowd: Crowd, n_kills: int, *, votes: tuple[int, int], seed: int = 1) -> threading.Thread:
    """A thread that kills a worker and the whole server in turn, stops the crowd in the end, and is not started.

    Parameters
    ----------
    votes : pair of int
        Fewest and most votes that are acknowledged before each kill, and before the end.
    """
    rng = random.Random(seed)

    def wait() -> None:
        wanted = len(crowd.log.acknowledged) + rng.randint(*votes)
        eventually(lambda: len(crowd.log.acknowledged) >= wanted, 300, "further votes")
        time.sleep(rng.uniform(0.0, 0.1))

    def work() -> None:
        try:
            for number in range(n_kills):
                wait()
                if number % 2:
                    killed.kill_all()
                else:
                    killed.kill_worker(rng)
            wait()
        finally:
            crowd.stop()

    return threading.Thread(target=work)
