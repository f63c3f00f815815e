# A client in another language on the system's libgrpc: four interop cases against gRPC's own C++ server.
# usage: ruby -I GENERATED client.rb CASE PORT [CA_FILE HOST_OVERRIDE]
require 'grpc'
require 'src/proto/grpc/testing/test_services_pb'

include Grpc::Testing

LARGE_REQUEST = 271_828
LARGE_RESPONSE = 314_159

def check(what)
  raise "failed: #{what}" unless yield
end

def stub(port, ca_file, host_override)
  return TestService::Stub.new("127.0.0.1:#{port}", :this_channel_is_insecure) if ca_file.nil?

  TestService::Stub.new("127.0.0.1:#{port}", GRPC::Core::ChannelCredentials.new(File.read(ca_file)),
                        channel_args: { GRPC::Core::Channel::SSL_TARGET => host_override })
end

def empty_unary(stub)
  check('an empty response') { stub.empty_call(Empty.new) == Empty.new }
end

def large_unary(stub)
  request = SimpleRequest.new(response_size: LARGE_RESPONSE, payload: Payload.new(body: "\0" * LARGE_REQUEST))
  20.times do
    response = stub.unary_call(request)
    check("#{LARGE_RESPONSE} zero bytes") { response.payload.body == "\0".b * LARGE_RESPONSE }
  end
end

def ping_pong(stub)
  sizes = [31_415, 9, 2_653, 58_979, 1_000_000]
  requests = sizes.map do |size|
    StreamingOutputCallRequest.new(response_parameters: [ResponseParameters.new(size: size)],
                                   payload: Payload.new(body: "\0" * size))
  end
  answered = stub.full_duplex_call(requests).map { |response| response.payload.body.bytesize }
  check("answers of #{sizes}, got #{answered}") { answered == sizes }
end

# A call that is cancelled must leave the channel usable.
def cancel(stub)
  operation = stub.streaming_input_call([].each, return_op: true)
  operation.cancel
  begin
    operation.execute
    check('a cancelled call to fail') { false }
  rescue GRPC::Cancelled
    empty_unary(stub)
  end
end

name, port, ca_file, host_override = ARGV
cases = { 'empty_unary' => :empty_unary, 'large_unary' => :large_unary, 'ping_pong' => :ping_pong, 'cancel' => :cancel }
send(cases.fetch(name), stub(port, ca_file, host_override))
puts "passed: #{name}"
