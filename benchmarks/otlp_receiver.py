"""An OTLP receiver that takes everything and keeps nothing. Run as a module, it says its port and goes on."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Take(BaseHTTPRequestHandler):
    """Says yes."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Read the whole of it, as a collector would."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Take)
    print(server.server_port, flush=True)
    server.serve_forever()
