"""gunicorn, as the commands start it: with our packages imported already.

gunicorn puts the current folder first on the path. A folder or file named `service` or `adaptive` there, as many
projects have one, would otherwise stand in for ours.
"""

from gunicorn.app.wsgiapp import run

import adaptive  # noqa: F401 - so that its modules are looked for where it lies
import rankcorr  # noqa: F401
import service  # noqa: F401

if __name__ == "__main__":
    run()
