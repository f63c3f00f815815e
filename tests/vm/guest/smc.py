"""smc.py: makes SMC-R possible over rxe0, as smc_pnet and smcd do, which Debian has not. Of both guests."""

import socket
import struct
import subprocess

GENERIC = 16  # NETLINK_GENERIC, and the family that tells of families
ERROR = 2  # a reply's type, of an acknowledgement, too
REQUEST_AND_ACKNOWLEDGE = 1 | 4
GET_FAMILY, FAMILY_ID, FAMILY_NAME = 3, 1, 2
PNETID_ADD, PNETID_NAME, PNETID_ETHNAME, PNETID_IBNAME, PNETID_IBPORT = 2, 1, 2, 3, 4
ADD_UEID, EID_ENTRY, EID_LENGTH = 10, 1, 32


def text(value):
    return value.encode() + b"\0"


def padded(data):
    return data + bytes(-len(data) % 4)


def packed(attributes):
    return b"".join(padded(struct.pack("HH", 4 + len(value), kind) + value) for kind, value in attributes.items())


def unpacked(data):
    while data:
        length, kind = struct.unpack_from("HH", data)
        yield kind, data[4:length]
        data = data[(length + 3) // 4 * 4 :]


class GenericNetlink:
    """The kernel's configuration by families of commands (linux/genetlink.h)."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, GENERIC)
        self._socket.bind((0, 0))

    def call(self, family, command, attributes):
        """The reply's attributes, if there are any."""
        body = struct.pack("BBxx", command, 1) + packed(attributes)
        self._socket.send(struct.pack("IHHII", 16 + len(body), family, REQUEST_AND_ACKNOWLEDGE, 1, 0) + body)
        found = {}
        while struct.unpack_from("H", reply := self._socket.recv(1 << 16), 4)[0] != ERROR:
            found = dict(unpacked(reply[20:]))
        if error := -struct.unpack_from("i", reply, 16)[0]:
            raise OSError(error, f"command {command}")
        return found

    def family(self, name):
        return struct.unpack("H", self.call(GENERIC, GET_FAMILY, {FAMILY_NAME: text(name)})[FAMILY_ID])[0]


def main():
    subprocess.run(["modprobe", "smc"], check=True)
    kernel = GenericNetlink()
    # One name for the Ethernet and for the RDMA device: which device leads to where a TCP connection leads.
    network = {PNETID_NAME: text("SKEIN"), PNETID_ETHNAME: text("eth0"), PNETID_IBNAME: text("rxe0"), PNETID_IBPORT: b"\1"}
    kernel.call(kernel.family("SMC_PNETID"), PNETID_ADD, network)
    # Version 2 asks for an id that both ends have in common; RoCE v2, all that rxe0 speaks, asks for version 2.
    kernel.call(kernel.family("SMC_GEN_NETLINK"), ADD_UEID, {EID_ENTRY: text("SKEIN".ljust(EID_LENGTH))})


if __name__ == "__main__":
    main()
