#include "thrift_transport/durable_connection.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/signals_blocked.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;

DurableConnection::DurableConnection(std::shared_ptr<TTransport> transport, uint64_t longest_message,
                                     const Limits& limits)
    : line_(std::move(transport), longest_message), limits_(limits) {}

void DurableConnection::Serve(durable::CallService& service) {
  const std::shared_ptr<durable::CallSession> session =
      service.Connect([this](const std::string& message) { Say(message); }, [this] { End(); });
  std::thread writer;
  const absl::Cleanup leave = [&] {  // also where there is no thread to be had
    session->Disconnected();
    if (!said_all()) Cut();  // who reads no more does not hold the writer up
    End();
    if (writer.joinable()) writer.join();
  };
  writer = StartWriter();
  Read(*session);
}

std::thread DurableConnection::StartWriter() {
  const SignalsBlocked blocked;
  try {
    return std::thread([this] {
      pthread_setname_np(pthread_self(), "skein-answers");
      RunWriter();
    });
  } catch (const std::system_error& error) {  // Thrift's servers would end the process
    throw TTransportException(TTransportException::INTERNAL_ERROR, absl::StrCat("skein: no thread: ", error.what()));
  }
}

void DurableConnection::Read(durable::CallSession& session) {
  while (const std::optional<absl::string_view> message = line_.Next()) {
    if (durable::IsAsk(*message) && line_.unsent() > limits_.asked_for) End();
    if (ended()) continue;  // until the client has heard of it: it would lose our last words if this side closed
    const absl::Status status = session.OnMessage(*message);
    if (!status.ok()) {
      throw TTransportException(TTransportException::CORRUPTED_DATA, absl::StrCat("skein: ", status.message()));
    }
  }
}

void DurableConnection::Say(const std::string& message) {
  if (message.size() > UINT32_MAX) return Cut();  // no frame is so long; its client cannot have it
  // Not cut off: what it has not read would be as much as before when it comes back.
  const size_t waiting = line_.waiting();
  if (waiting > 0 && waiting + message.size() > limits_.unsent) return End();
  {
    const MutexLock lock(&mu_);
    if (ended_) return;
    line_.Put(message);
    said_ = true;
  }
  writer_wakes_.notify_one();
}

void DurableConnection::End() {
  {
    const MutexLock lock(&mu_);
    ended_ = true;
  }
  writer_wakes_.notify_one();
}

bool DurableConnection::ended() {
  const MutexLock lock(&mu_);
  return ended_;
}

bool DurableConnection::said_all() {
  const MutexLock lock(&mu_);
  return said_all_;
}

void DurableConnection::RunWriter() {
  for (bool last = false; !last;) {
    {
      const MutexLock lock(&mu_);
      Lockable lockable{mu_};
      while (!said_ && !ended_) writer_wakes_.wait(lockable);
      said_ = false;
      last = ended_;
    }
    line_.Send();
  }
  {
    const MutexLock lock(&mu_);
    said_all_ = true;
  }
  line_.EndWriting();
}

}  // namespace skein::thrift_transport
