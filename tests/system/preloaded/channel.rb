# channel.rb TARGET: by Debian's gRPC for Ruby, which loads libgrpc when it is required, for itself alone: whether a
# channel to TARGET becomes ready.
require "grpc"

channel = GRPC::Core::Channel.new(ARGV[0], {}, :this_channel_is_insecure)
deadline = Time.now + 20
until (state = channel.connectivity_state(true)) == GRPC::Core::ConnectivityStates::READY || Time.now > deadline
  break if state == GRPC::Core::ConnectivityStates::TRANSIENT_FAILURE
  channel.watch_connectivity_state(state, deadline)
end
puts(state == GRPC::Core::ConnectivityStates::READY ? "ready" : "failed")
