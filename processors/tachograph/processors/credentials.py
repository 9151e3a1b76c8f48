"""How Faust's consumer proves itself to the broker: the same settings that librdkafka gets, in Faust's words."""

import ssl

from faust.auth import Credentials, SASLCredentials, SSLCredentials

from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import KafkaSettings


def credentials(kafka: KafkaSettings) -> Credentials | None:
    """Credentials for Faust; None for a listener that asks for none. Raises ConfigError if a file cannot be used."""
    context = _context(kafka) if kafka.has_tls else None
    if kafka.has_sasl:
        return SASLCredentials(
            username=kafka.sasl_username,
            password=kafka.sasl_password.get_secret_value(),
            ssl_context=context,
            mechanism=kafka.sasl_mechanism,
        )
    return None if context is None else SSLCredentials(context)


def _context(kafka: KafkaSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=kafka.ssl_ca)
        if kafka.ssl_certificate is not None:
            password = kafka.ssl_key_password.get_secret_value()
            # Without a password OpenSSL would ask on the terminal, and a process without one would hang there.
            context.load_cert_chain(kafka.ssl_certificate, kafka.ssl_key, password)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the files of kafka.ssl_ca, ssl_certificate and ssl_key cannot be used ({type(error).__name__}): are they "
            "PEM, does the key belong to the certificate, and is kafka.ssl_key_password right?"
        ) from None
    return context
