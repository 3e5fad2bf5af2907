"""The variants of the service: Tomcat with platform threads, Tomcat with virtual threads, and WebFlux on Netty."""

from __future__ import annotations

from lab.spec.limits import NOT_SET, Limits
from lab.spec.system import Variant

TOMCAT = {
    "server.tomcat.threads.max": "{threads}",
    "server.tomcat.accept-count": "{accept_count}",
    "server.tomcat.max-connections": "{max_connections}",
    "server.tomcat.max-keep-alive-requests": "{keep_alive_requests}",
}
# As Spring Boot documents them for server.tomcat.*.
TOMCAT_OWN = Limits(
    threads=200, accept_count=100, pool=None, heap_mb=None, max_connections=8192, keep_alive_requests=100
)
# The backlog is what the kernel grants at most by default (somaxconn), no connection is closed to be opened again, and
# the heap has room for some thousand requests without a collection a second. The pool is planned (lab.spec.planning).
TUNED = Limits(threads=None, accept_count=4096, pool=None, heap_mb=2048)
ALL_PROMISE = {"accept_count": "{accept_count}", "cpus": "{cpus}"}
TOMCAT_PROMISES = {
    **ALL_PROMISE,
    "max_connections": "{max_connections}",
    "keep_alive_requests": "{keep_alive_requests}",
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
        "request_threads_max": "{event_loops}",
    },
    own=NOT_SET,
    tuned=TUNED,  # Netty's own event loops, one a core and at least four: nothing may block them, so more are of no use
    published_as="reactive",
)
