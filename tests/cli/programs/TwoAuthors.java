// SPDX-License-Identifier: MIT
// A client in Java that writes each request in two pieces: PORT, EXCHANGES.
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

public class TwoAuthors {
    static void sendHeader(OutputStream out) throws IOException {
        out.write(new byte[200]);
    }

    static void sendBody(OutputStream out) throws IOException {
        out.write(new byte[100]);
    }

    public static void main(String[] words) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", Integer.parseInt(words[0]))) {
            OutputStream out = socket.getOutputStream();
            InputStream in = socket.getInputStream();
            for (int left = Integer.parseInt(words[1]); left > 0; left--) {
                sendHeader(out);
                sendBody(out);
                if (in.readNBytes(200).length < 200)
                    return;
            }
        }
    }
}
