"""The variants of the service: Tomcat with platform threads, Tomcat with virtual threads, and WebFlux on Netty."""

from __future__ import annotations

from lab.spec.limits import NOT_SET, Limits
from lab.spec.system import Variant

TOMCAT = {
    "server.tomcat.threads.max": "{threads}",
    "server.tomcat.accept-count": "{accept_count}",
    "server.tomcat.max-connections": "{max_connections}",
    "server.tomcat.max-keep-alive-requests": "{keep_alive_requests}",
    "server.tomcat.keep-alive-timeout": "{keep_alive_timeout_ms}",
    # Tomcat gives each request in flight a processor with buffers, and by itself keeps 200 for the next ones: of more,
    # the others would be made and collected again and again. At most one a connection is in use.
    "server.tomcat.processor-cache": "{max_connections}",
}
# As Spring Boot documents them for server.tomcat.*; a connection may rest as long as Tomcat waits for a first request.
TOMCAT_OWN = Limits(
    threads=200,
    accept_count=100,
    pool=None,
    heap_mb=None,
    max_connections=8192,
    keep_alive_requests=100,
    keep_alive_timeout_ms=60_000,
)
# The backlog is what the kernel grants at most by default (somaxconn), no connection is closed to be opened again, and
# the heap has room for some thousand requests without a collection a second. The pool is planned (lab.spec.planning).
TUNED = Limits(threads=None, accept_count=4096, pool=None, heap_mb=2048)
ALL_PROMISE = {"accept_count": "{accept_count}", "cpus": "{cpus}"}
TOMCAT_PROMISES = {
    **ALL_PROMISE,
    "max_connections": "{max_connections}",
    "keep_alive_requests": "{keep_alive_requests}",
    "keep_alive_timeout_ms": "{keep_alive_timeout_ms}",
    "processor_cache": "{max_connections}",
}

MVC_STACK = {"stack": "Spring MVC on Tomcat"}

MVC = Variant(
    name="mvc",
    module="mvc",
    title="Spring MVC on Tomcat, platform threads",
    factors={**MVC_STACK, "threads": "platform"},
    properties=TOMCAT,
    promises={**TOMCAT_PROMISES, "request_threads_max": "{threads}"},
    own=TOMCAT_OWN,
    # A thread that waits costs memory, some 0.1 MB of its stack, and no CPU: 2000 wait in 200 MB.
    tuned=Limits(2000, TUNED.accept_count, TUNED.pool, TUNED.heap_mb),
    thread_per_request=True,
    published_as="sync",
)

MVC_VIRTUAL = Variant(
    name="mvc-virtual",
    module="mvc",
    title="Spring MVC on Tomcat, virtual threads",
    factors={**MVC_STACK, "threads": "virtual"},
    properties={**TOMCAT, "spring.threads.virtual.enabled": "true"},
    promises={**TOMCAT_PROMISES, "request_threads_max": None},
    own=TOMCAT_OWN,
    tuned=TUNED,  # a virtual thread a request, as many as come: Tomcat's pool of threads is not used
)

WEBFLUX = Variant(
    name="webflux",
    module="webflux",
    title="Spring WebFlux on Netty, event loops",
    factors={"stack": "Spring WebFlux on Netty", "threads": "event loops"},
    properties={"lab.accept-count": "{accept_count}"},
    jvm_arguments=("-Dreactor.netty.ioWorkerCount={event_loops}",),
    promises={
        **ALL_PROMISE,
        "max_connections": None,
        "keep_alive_requests": None,
        "keep_alive_timeout_ms": None,  # Netty's own: nothing watches over connections that rest
        "request_threads_max": "{event_loops}",
    },
    own=NOT_SET,
    tuned=TUNED,  # Netty's own event loops, one a core and at least four: nothing may block them, so more are of no use
    published_as="reactive",
)
