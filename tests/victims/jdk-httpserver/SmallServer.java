// SPDX-License-Identifier: MIT
// The JDK's own HTTP server with a small response. Argument: port.

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

public class SmallServer {
    public static void main(String[] arguments) throws IOException {
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        InetSocketAddress address = new InetSocketAddress(loopback, Integer.parseInt(arguments[0]));
        HttpServer server = HttpServer.create(address, 0);
        server.createContext("/", exchange -> {
            String answer = "you asked for " + exchange.getRequestURI() + "\n";
            byte[] body = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
