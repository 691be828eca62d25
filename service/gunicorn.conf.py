"""What gunicorn reads when `rankcorr-serve` starts it; settings and hooks are in a module, for tests to reach them."""

from service.gunicorn_conf import *  # noqa: F403
