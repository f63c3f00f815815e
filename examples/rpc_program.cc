#include "examples/rpc_program.h"

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace skein::examples {

absl::Status HandleAll(rpc::Server& server, const Functions& functions) {
  for (const auto& [number, function] : functions) {
    const absl::Status status =
        server.Handle(number, [&function = function](absl::string_view request, rpc::Reply reply) {
          const absl::StatusOr<absl::string_view> answer = function(request);
          answer.ok() ? reply.Send(*answer) : reply.Fail(answer.status());
        });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Serve(const Functions& functions, absl::string_view at) {
  rpc::Server server({});
  return Serve(server, functions, at);
}

absl::Status Serve(rpc::Server& server, const Functions& functions, absl::string_view at) {
  if (absl::Status handled = HandleAll(server, functions); !handled.ok()) return handled;
  const absl::StatusOr<std::string> address = server.Listen(at);
  if (!address.ok()) return address.status();
  std::cout << "serving at " << *address << std::endl;
  return server.Serve();
}

absl::Status RunCommands(absl::string_view address, const Command& command) {
  rpc::Client client({});
  const absl::StatusOr<std::unique_ptr<rpc::Connection>> connection = client.Connect(address, kPatience);
  if (!connection.ok()) return connection.status();
  absl::Status first_error;
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    const absl::StatusOr<std::string> answer = command(**connection, words);
    const absl::Status lost = (*connection)->error();
    if (!lost.ok()) return absl::UnavailableError(absl::StrCat("lost the server: ", lost.message()));
    first_error.Update(answer.status());
    std::cout << (answer.ok() ? *answer : absl::StrCat("error: ", answer.status().message())) << std::endl;
  }
  return first_error;
}

std::optional<int> Parse(CLI::App& app, int argc, char** argv) {
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

ServiceProgram::ServiceProgram(std::string name, const std::string& description)
    : name_(std::move(name)),
      app_(description),
      serve_(app_.add_subcommand("serve", "serves, until it is killed")),
      ask_(app_.add_subcommand("ask", "does what the lines of standard input say")) {
  for (CLI::App* const verb : {serve_, ask_}) verb->add_option("address", address_, "HOST:PORT")->required();
}

int ServiceProgram::Run(int argc, char** argv, const std::function<absl::Status(const std::string& address)>& serve,
                        const Command& ask) {
  if (const std::optional<int> status = Parse(app_, argc, argv); status.has_value()) return *status;
  return ExitStatus(name_, ask_->parsed() ? RunCommands(address_, ask) : serve(address_));
}

int ExitStatus(absl::string_view program, const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << program << ": " << status.message() << std::endl;
  return 1;
}

}  // namespace skein::examples
