"""Points at which a process may be killed: around each commit, and around each statement."""

from __future__ import annotations

import os
import signal

import sqlalchemy as sa

from adaptive.ledger import Ledger


class Points:
    """Counts the points that the work of a ledger passes, and kills the process at one of them.

    A commit of PostgreSQL has one point more than that of SQLite: it was sent, and its answer was not waited for.
    """

    def __init__(self, ledger: Ledger, fatal: int | None = None, *, of_statements: bool = False) -> None:
        self.n_passed, self.fatal = 0, fatal
        engine = ledger.database.engine
        if of_statements:
            sa.event.listen(engine, "before_cursor_execute", self._pass)
            sa.event.listen(engine, "after_cursor_execute", self._pass)
        commit = engine.dialect.do_commit

        def do_commit(connection):
            self._pass()
            if not ledger.database.is_sqlite and self._is_next():
                connection.pgconn.send_query(b"COMMIT")
                connection.pgconn.flush()
                self._pass()
            commit(connection)
            self._pass()

        engine.dialect.do_commit = do_commit

    def _pass(self, *_: object) -> None:
        if self._is_next():
            os.kill(os.getpid(), signal.SIGKILL)
        self.n_passed += 1

    def _is_next(self) -> bool:
        return self.n_passed == self.fatal
