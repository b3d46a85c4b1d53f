"""What can go wrong, by type. The service names eight types of errors; each has its class here, so that a
caller catches a class and never reads a message."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type


class TabellaError(Exception):
    """Everything that this package raises of its own."""


class APIConnectionError(TabellaError):
    """No answer came: the service could not be reached, or the connection broke."""


class APITimeoutError(APIConnectionError):
    """Nothing moved on the connection for `timeout` seconds."""


class APIError(TabellaError):
    """The service answered with an error, or the engine in this process.

    status: the HTTP status, 0 of the engine here. type: one of the specification's types. param: the field at
    fault, such as `tables[1].rows`, or None. request_id: to be quoted to those who run the service.
    retry_after: seconds, where the service named them."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        type: str = "",
        param: Optional[str] = None,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
        body: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.type = type
        self.param = param
        self.request_id = request_id
        self.retry_after = retry_after
        self.body = body

    def __str__(self) -> str:
        told = [f"{self.status or ''} {self.type}".strip()]
        if self.param:
            told.append(f"param {self.param}")
        if self.request_id:
            told.append(f"request {self.request_id}")
        return f"{self.message} ({', '.join(told)})"


class ValidationError(APIError):
    """400: a field is malformed, or rows do not match the endpoint's pinned tables."""


class AuthenticationError(APIError):
    """401: the key is missing or invalid."""


class PermissionDeniedError(AuthenticationError):
    """403: the key lacks the scope of the call."""


class NotFoundError(APIError):
    """404: there is no such thing in this organization."""


class ConflictError(APIError):
    """409: the state does not allow it. running_job_id names the job that is in the way, if one is."""

    @property
    def running_job_id(self) -> Optional[str]:
        error = self.body.get("error") if isinstance(self.body, dict) else None
        return error.get("running_job_id") if isinstance(error, dict) else None


class CapabilityUnavailableError(APIError):
    """422: the base is retired."""


class RateLimitError(APIError):
    """429: too many requests or cells, or the allowance is spent."""


class JobFailedError(APIError):
    """A job could not complete; nothing is billed. job: the job's last state, where one was waited for."""

    job: Any = None


class JobCancelledError(JobFailedError):
    """The job that was waited for has been cancelled."""


class JobExpiredError(JobFailedError):
    """The job that was waited for missed its window; it may be sent again."""


class InternalError(APIError):
    """5xx: the fault is the service's, or something between here and it."""


# Every type of the specification, and its class. 401 and 403 share a type.
BY_TYPE: Dict[str, Type[APIError]] = {
    "validation_error": ValidationError,
    "auth_error": AuthenticationError,
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "capability_unavailable": CapabilityUnavailableError,
    "rate_limit": RateLimitError,
    "job_failed": JobFailedError,
    "internal": InternalError,
}

# For answers without the envelope: of a proxy on the way, say.
BY_STATUS: Dict[int, str] = {
    400: "validation_error",
    401: "auth_error",
    403: "auth_error",
    404: "not_found",
    409: "conflict",
    422: "capability_unavailable",
    429: "rate_limit",
}


def error_of(
    status: int, headers: Mapping[str, str], body: Any, retry_after: Optional[float] = None
) -> APIError:
    """The error that an answer of another status than 2xx stands for."""
    envelope = body.get("error") if isinstance(body, dict) else None
    if not isinstance(envelope, dict):
        envelope = {}
    kind = str(envelope.get("type") or BY_STATUS.get(status, "internal"))
    made = BY_TYPE.get(kind, APIError)
    if status == 403:
        made = PermissionDeniedError
    return made(
        str(envelope.get("message") or f"the answer has status {status} and no message"),
        status=status,
        type=kind,
        param=envelope.get("param"),
        request_id=envelope.get("request_id") or headers.get("x-request-id"),
        retry_after=retry_after,
        body=body,
    )
