# SPDX-License-Identifier: MIT
"""server.py PORT [nodelay]: the method `length` of a Thrift service, without generated code.

Frames and binary protocol, as non-blocking clients want them.
"""

import socket
import sys

from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
from thrift.server.TServer import TThreadedServer
from thrift.Thrift import TMessageType, TType
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TFramedTransportFactory


class Processor:
    """i32 length(1: string text)"""

    def on_message_begin(self, _):
        """For a server that chooses among processors."""

    @staticmethod
    def process(iprot, oprot):
        name, _, sequence = iprot.readMessageBegin()
        iprot.readStructBegin()
        iprot.readFieldBegin()
        text = iprot.readString()
        iprot.readFieldEnd()
        iprot.readFieldBegin()
        iprot.readStructEnd()
        iprot.readMessageEnd()
        oprot.writeMessageBegin(name, TMessageType.REPLY, sequence)
        oprot.writeStructBegin("length_result")
        oprot.writeFieldBegin("success", TType.I32, 0)
        oprot.writeI32(len(text))
        oprot.writeFieldEnd()
        oprot.writeFieldStop()
        oprot.writeStructEnd()
        oprot.writeMessageEnd()
        oprot.trans.flush()


class Listener(TServerSocket):
    """The own cure."""

    def accept(self):
        client = super().accept()
        client.handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client


listener = (Listener if "nodelay" in sys.argv else TServerSocket)("127.0.0.1", int(sys.argv[1]))
TThreadedServer(Processor(), listener, TFramedTransportFactory(), TBinaryProtocolFactory(),
                daemon=True).serve()
