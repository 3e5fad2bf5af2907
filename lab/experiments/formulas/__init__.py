"""The formulas of a document, each measured on a grid of requests, threads, connections and calls a request."""
