"""The interop cases of gRPC's C++ client, and what each must have logged to count as run."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    proof: str  # the client logs this at debug level when, or as the last thing before, the case passes
    flags: tuple = ()
    timeout: int = 60  # seconds
    sleeps: bool = False  # spends its time sleeping: many can run at once
    may_never_connect: bool = False  # its deadline of a millisecond may pass before


SOAK = ("--soak_per_iteration_max_acceptable_latency_ms=2000", "--soak_overall_timeout_seconds=60")

CASES = (
    Case("empty_unary", "Empty rpc done."),
    Case("large_unary", "Large unary done."),
    Case("client_compressed_unary", "Sending compressed unary request (compression=false)"),
    Case("server_compressed_unary", "Sending unary request for compressed response (compression=false)"),
    Case("client_streaming", "Sending request steaming rpc"),
    Case("server_streaming", "Response streaming done."),
    Case("client_compressed_streaming", "Sending streaming request with compression disabled"),
    Case("server_compressed_streaming", "Sending request streaming rpc (compression="),
    Case("half_duplex", "Half-duplex streaming rpc done."),
    Case("ping_pong", "Ping pong streaming done."),
    Case("empty_stream", "empty_stream done."),
    Case("cancel_after_begin", "Canceling streaming done."),
    Case("cancel_after_first_response", "Canceling pingpong streaming done."),
    Case("timeout_on_sleeping_server", "Pingpong streaming timeout done.", may_never_connect=True),
    Case("status_code_and_message", "Done testing Status and Message"),
    Case("special_status_message", "Done testing Special Status Message"),
    Case("custom_metadata", "Done testing stream with custom metadata"),
    Case("unimplemented_method", "unimplemented rpc done."),
    Case("unimplemented_service", "unimplemented service done."),
    Case("rpc_soak", "rpc_soak test done.", ("--soak_iterations=2000", *SOAK), 90),
    Case("channel_soak", "channel_soak test done.", ("--soak_iterations=500", *SOAK), 90),
    Case("long_lived_channel", "long_lived_channel test done.", ("--soak_iterations=5", "--iteration_interval=2"),
         sleeps=True),
    Case("slow_consumer", "Response streaming done.", timeout=180, sleeps=True),
)  # fmt: skip

# What our own client in Ruby (ruby/client.rb) does; it prints the name when the case passes.
RUBY_CASES = tuple(Case(name, f"passed: {name}") for name in ("empty_unary", "large_unary", "ping_pong", "cancel"))
