// A path on a stream of Skein's: shared memory, RDMA, the simulated fabric.
#ifndef SKEIN_CORE_REPLICATE_STREAM_PATH_H_
#define SKEIN_CORE_REPLICATE_STREAM_PATH_H_

#include <memory>
#include <string>
#include <vector>

#include "core/replicate/path.h"
#include "core/stream/stream.h"

namespace skein::replicate {

class StreamPath final : public Path {
 public:
  // Its link is polled by whoever the connector or listener was given.
  explicit StreamPath(std::shared_ptr<stream::Stream> stream) : stream_(std::move(stream)) {}
  ~StreamPath() override;

  void SetObserver(std::shared_ptr<PathObserver> observer) override;
  absl::StatusOr<size_t> Write(absl::Span<const ConstBytes> parts) override;
  absl::StatusOr<size_t> Read(Bytes into) override;
  void CloseWrite() override {
    write_closed_ = true;
    stream_->CloseWrite();
  }
  std::string name() const override { return stream_->path(); }

 private:
  size_t TakeArrived(Bytes into);

  const std::shared_ptr<stream::Stream> stream_;
  std::vector<stream::Buffer> arrived_;  // the next of them first
  size_t next_ = 0;                      // of arrived_
  size_t taken_ = 0;                     // of that one
  bool write_closed_ = false;
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_STREAM_PATH_H_
