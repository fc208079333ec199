"""Logs as lines of JSON."""

from __future__ import annotations

import json
import logging
import time

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """A formatter that writes a record, and whatever `extra` it has, as one line of JSON.

    Example:
        >>> from oneflow.serving.logs import JsonFormatter
        >>> import logging
        >>> record = logging.makeLogRecord({"msg": "ready", "levelname": "INFO", "created": 0.0})
        >>> JsonFormatter().format(record)
        '{"time": "1970-01-01T00:00:00.000Z", "level": "INFO", "message": "ready"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        data = {
            "time": f"{seconds}.{int(record.created % 1 * 1000):03}Z",
            "level": record.levelname,
            "message": record.getMessage(),
        }
        data |= {key: value for key, value in vars(record).items() if key not in _PLAIN}
        if record.exc_info:
            data["error"] = self.formatException(record.exc_info)
        return json.dumps(data, default=str)
