// Processes that fork, as daemons and servers with workers do. Each begins in a child that has not used Skein yet,
// for a parent that has used it changes what its children may do.
#include <skein/thrift/nonblocking_server_socket.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/refused_call.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

// A child process; its exit status says what went wrong.
class Child {
 public:
  explicit Child(const std::function<int()>& act) : pid_(fork()) {
    if (pid_ != 0) return;
    alarm(20);
    int status = 100;
    try {
      status = act();
    } catch (const TTransportException& exception) {
      fprintf(stderr, "%s\n", exception.what());
    }
    _exit(status);
  }
  int Wait() const {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void Kill() const {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  const pid_t pid_;
};

void ServeOne(TServerSocket& server) {
  const std::shared_ptr<TTransport> connection = server.accept();
  Echo(connection);
  connection->close();
}

// "shm", or "tcp: why".
std::string PathTo(int port) {
  TSkeinSocket client("127.0.0.1", port);
  client.open();
  WriteText(client, "hello");
  client.flush();
  if (ReadText(client, 5) != "hello") return "broken";
  const std::string why = client.getSkeinReason();
  return client.getSkeinPath() + (why.empty() ? "" : ": ") + why;
}

class ForkedTest : public testing::Test {
 protected:
  ForkedTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }
};

constexpr char kForked[] = "forked after Skein was started";

TEST_F(ForkedTest, WorkersForkedAfterListenServeOverSharedMemory) {
  TSkeinServerSocket server("127.0.0.1", 0);
  server.listen();
  const auto work = [&server] {
    for (;;) ServeOne(server);
    return 0;
  };
  const Child first(work);
  const Child second(work);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Child([&server] { return PathTo(server.getPort()) == "shm" ? 0 : 1; }).Wait(), 0);
  }
  first.Kill();
  second.Kill();
}

TEST_F(ForkedTest, ADaemonsConnectionsAreOverSharedMemory) {
  TSkeinServerSocket server("127.0.0.1", 0);
  server.listen();
  const Child serves([&server] {
    ServeOne(server);
    return 0;
  });
  const TSkeinOptions options;  // of start-up
  const Child daemon(
      [&server] { return Child([&server] { return PathTo(server.getPort()) == "shm" ? 0 : 1; }).Wait(); });
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_EQ(serves.Wait(), 0);
}

// Nobody else polls for it, and nobody can ask after it; over TCP it needs no thread, either.
TEST_F(ForkedTest, AProcessThatMayStartNoThreadIsServed) {
  TSkeinServerSocket server("127.0.0.1", 0);
  server.listen();
  const Child serves([&server] {
    ServeOne(server);
    return 0;
  });
  const Child client([&server] {
    if (!Refuse({SYS_clone3}, EPERM)) return 2;
    return PathTo(server.getPort()) == "shm" ? 0 : 1;
  });
  EXPECT_EQ(client.Wait(), 0);
  EXPECT_EQ(serves.Wait(), 0);
}

// The parent's link, threads and locks are not there for the child, and it says so at both ends.
TEST_F(ForkedTest, AChildOfAParentWithAConnectionStaysOnTcpAndSaysWhy) {
  TSkeinServerSocket outside("127.0.0.1", 0);
  TSkeinServerSocket own("127.0.0.1", 0);
  outside.listen();
  own.listen();
  const Child serves([&outside] {
    ServeOne(outside);
    ServeOne(outside);
    return 0;
  });
  const Child parent([&] {
    if (PathTo(outside.getPort()) != "shm") return 1;
    const Child client([&] { return PathTo(outside.getPort()).find(kForked) != std::string::npos ? 0 : 2; });
    if (const int status = client.Wait(); status != 0) return status;
    const Child worker([&own] {
      ServeOne(own);
      return 0;
    });
    return worker.Wait();
  });
  const Child client([&own] { return PathTo(own.getPort()).find(kForked) != std::string::npos ? 0 : 1; });
  EXPECT_EQ(client.Wait(), 0);
  EXPECT_EQ(parent.Wait(), 0);
  EXPECT_EQ(serves.Wait(), 0);
}

// It waited for ever for a thread that only its parent has.
TEST_F(ForkedTest, AChildLeavesItsParentsAcceptorAlone) {
  const Child parent([] {
    TSkeinNonblockingServerSocket server("127.0.0.1", 0);
    server.listen();
    const Child child([&server] {
      server.close();
      return 0;
    });
    return child.Wait();
  });
  EXPECT_EQ(parent.Wait(), 0);
}

}  // namespace
}  // namespace skein::thrift_transport
