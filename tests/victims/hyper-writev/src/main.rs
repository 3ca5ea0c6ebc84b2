// SPDX-License-Identifier: MIT
//
// A server on hyper 0.13 whose connections go through a wrapper type, as urlite's did: the wrapper forwards
// poll_write and forgets the vectored form, so that tokio's default writes the head of a response alone.
use bytes::Bytes;
use hyper::server::accept::from_stream;
use hyper::service::{make_service_fn, service_fn};
use hyper::{Body, Request, Response, Server};
use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::stream::StreamExt;

struct Wrapped(TcpStream);

impl AsyncRead for Wrapped {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &mut [u8])
                 -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(context, bytes)
    }
}

impl AsyncWrite for Wrapped {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8])
                  -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

async fn answer(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    let text = format!("you asked for {}\n", request.uri().path());
    Ok(Response::new(Body::from(Bytes::from(text))))
}

#[tokio::main(basic_scheduler)]
async fn main() {
    let port: u16 = std::env::args().nth(1).expect("a port").parse().expect("a number");
    let mut listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.expect("to listen");
    let connections = from_stream(listener.incoming().map(|connection| connection.map(Wrapped)));
    let service = make_service_fn(|_| async { Ok::<_, Infallible>(service_fn(answer)) });
    Server::builder(connections).http1_writev(true).serve(service).await.expect("to serve");
}
