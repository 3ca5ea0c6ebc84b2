// SPDX-License-Identifier: MIT
//
// client URL POSTS: a queue of POSTs as a SOAP client has it, each sent when the one before is answered, over
// one connection (all at once would be spread over six). In the end one line of JSON: the milliseconds of
// each exchange, failures, and the libraries that are mapped.
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QNetworkAccessManager>
#include <QNetworkReply>
#include <QNetworkRequest>
#include <QSslError>
#include <QUrl>
#include <cstdio>
#include <functional>

static QJsonArray mappedLibraries() {
    QJsonArray found;
    QFile maps(QStringLiteral("/proc/self/maps"));
    maps.open(QIODevice::ReadOnly);
    for (const QByteArray &line : maps.readAll().split('\n'))
        if (line.contains(".so") || line.contains("test-bin"))
            found.append(QString::fromUtf8(line.mid(line.indexOf('/'))));
    return found;
}

int main(int count, char **words) {
    QCoreApplication application(count, words);
    const QUrl url(QString::fromUtf8(words[1]));
    const int posts = QByteArray(words[2]).toInt();
    QNetworkAccessManager manager;
    QElapsedTimer clock;
    QJsonArray times, failures;
    std::function<void(int)> post = [&](int number) {
        clock.start();
        QNetworkRequest request(url);
        request.setHeader(QNetworkRequest::ContentTypeHeader, QStringLiteral("text/xml"));
        request.setRawHeader("Connection", "keep-alive");
#if QT_VERSION >= QT_VERSION_CHECK(6, 0, 0)
        request.setAttribute(QNetworkRequest::Http2AllowedAttribute, false);
#endif
        QByteArray body = "<soap:Envelope><soap:Body><order>" + QByteArray::number(number) +
            "</order></soap:Body></soap:Envelope>";
        QNetworkReply *reply = manager.post(request, body);
        reply->ignoreSslErrors();
        QObject::connect(reply, &QNetworkReply::finished, [&, reply, number]() {
            times.append(clock.nsecsElapsed() / 1e6);
            if (reply->error() != QNetworkReply::NoError)
                failures.append(reply->errorString());
            reply->readAll();
            reply->deleteLater();
            if (number < posts && failures.isEmpty())
                post(number + 1);
            else
                application.quit();
        });
    };
    post(1);
    application.exec();
    QJsonObject facts{{"times", times}, {"failures", failures}, {"mapped", mappedLibraries()}};
    std::puts(QJsonDocument(facts).toJson(QJsonDocument::Compact).constData());
    return failures.isEmpty() ? 0 : 1;
}
