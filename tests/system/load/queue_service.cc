#include "tests/system/load/queue_service.h"

#include <array>
#include <thread>

#include "tests/system/load/load.grpc.pb.h"
#include "tests/system/load/pattern.h"

namespace skein::load {
namespace {

// Where calls come from.
struct Door {
  Load::AsyncService& service;
  grpc::ServerCompletionQueue& queue;
};

// A call that is waited for, and then served: always one thing of it is under way, whose tag it is.
class QueuedCall {
 public:
  virtual ~QueuedCall() = default;
  // The thing is done, well or not. Whether there is another one, in which case this may be gone already.
  virtual bool Go(bool ok) = 0;
};

// The queue owns it from now on.
template <typename Kind>
void Await(Door door) {
  (void)std::make_unique<Kind>(door).release();
}

// What calls of every kind do; a Kind asks for its first when it is made, and takes each Step.
template <typename Kind>
class CallOf : public QueuedCall {
 public:
  explicit CallOf(Door door) : door_(door) {}
  bool Go(bool ok) final {
    if (finishing_ || (!begun_ && !ok)) return false;  // it was the last, or the server shuts down
    if (!begun_) Await<Kind>(door_);
    begun_ = true;
    static_cast<Kind*>(this)->Step(ok);
    return true;
  }

 protected:
  void* Tag() { return static_cast<QueuedCall*>(this); }
  // Of the thing behind which there is none.
  void* LastTag() {
    finishing_ = true;
    return Tag();
  }

  grpc::ServerContext context_;

 private:
  const Door door_;
  bool begun_ = false;
  bool finishing_ = false;
};

class QueuedEcho final : public CallOf<QueuedEcho> {
 public:
  explicit QueuedEcho(Door door) : CallOf(door) {
    door.service.RequestEcho(&context_, &payload_, &writer_, &door.queue, &door.queue, Tag());
  }
  void Step(bool) { writer_.Finish(payload_, grpc::Status::OK, LastTag()); }

 private:
  grpc::ServerAsyncResponseWriter<Payload> writer_{&context_};
  Payload payload_;
};

class QueuedChat final : public CallOf<QueuedChat> {
 public:
  explicit QueuedChat(Door door) : CallOf(door) {
    door.service.RequestChat(&context_, &stream_, &door.queue, &door.queue, Tag());
  }
  void Step(bool ok) {
    if (!ok) return stream_.Finish(grpc::Status::OK, LastTag());
    reads_ = !reads_;
    reads_ ? stream_.Read(&message_, Tag()) : stream_.Write(message_, Tag());
  }

 private:
  grpc::ServerAsyncReaderWriter<Payload, Payload> stream_{&context_};
  Payload message_;
  bool reads_ = false;
};

class QueuedGet final : public CallOf<QueuedGet> {
 public:
  explicit QueuedGet(Door door) : CallOf(door) {
    door.service.RequestGet(&context_, &order_, &writer_, &door.queue, &door.queue, Tag());
  }
  void Step(bool ok) {
    if (!ok || written_ == order_.messages()) return writer_.Finish(grpc::Status::OK, LastTag());
    message_.set_data(Pattern(order_.bytes(), order_.seed() + written_++));
    writer_.Write(message_, Tag());
  }

 private:
  grpc::ServerAsyncWriter<Payload> writer_{&context_};
  Order order_;
  Payload message_;
  uint32_t written_ = 0;
};

class QueuedPut final : public CallOf<QueuedPut> {
 public:
  explicit QueuedPut(Door door) : CallOf(door) {
    door.service.RequestPut(&context_, &reader_, &door.queue, &door.queue, Tag());
  }
  void Step(bool ok) {
    if (!ok) return reader_.Finish(reply_, grpc::Status::OK, LastTag());
    reply_.set_bytes(reply_.bytes() + message_.data().size());  // none before the first
    reader_.Read(&message_, Tag());
  }

 private:
  grpc::ServerAsyncReader<Order, Payload> reader_{&context_};
  Payload message_;
  Order reply_;
};

class QueueService final : public LoadService {
 public:
  void AddTo(grpc::ServerBuilder& builder) override {
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
  }
  void Start() override {
    const Door door{service_, *queue_};
    Await<QueuedEcho>(door);
    Await<QueuedChat>(door);
    Await<QueuedGet>(door);
    Await<QueuedPut>(door);
    for (std::thread& thread : threads_) thread = std::thread([this] { Run(); });
  }
  void Stop() override {
    queue_->Shutdown();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Run() {
    void* tag = nullptr;
    for (bool ok = false; queue_->Next(&tag, &ok);) {
      std::unique_ptr<QueuedCall> call(static_cast<QueuedCall*>(tag));
      if (call->Go(ok)) (void)call.release();
    }
  }

  Load::AsyncService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::array<std::thread, 2> threads_;
};

}  // namespace

std::unique_ptr<LoadService> NewQueueService() { return std::make_unique<QueueService>(); }

}  // namespace skein::load
