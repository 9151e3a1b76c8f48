"""The broker's two configuration files. Paths in them are relative to the broker's folder, so no path needs quoting."""

from tachograph.deploy.ports import LOOPBACK, Ports


def server_properties(ports: Ports) -> str:
    """One node that is broker and controller, on loopback, in plaintext."""
    values = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{ports.kafka_port},CONTROLLER://{LOOPBACK}:{ports.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{ports.kafka_port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"{LOOPBACK}:{ports.controller_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": "data",
        # Topics are made by `tachograph topics apply`; a misspelt name must fail, not appear.
        "auto.create.topics.enable": "false",
        # One node: every internal topic has one replica.
        "offsets.topic.replication.factor": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        # 50 partitions by default: each is a folder to make at first use, and one consumer group needs one.
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        # A consumer starts at once, and one that was killed is missed after a second if it asks for that.
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())


LOG4J2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN">
  <Appenders>
    <RollingFile name="file" fileName="../logs/kafka.log" filePattern="../logs/kafka.log.%i">
      <PatternLayout pattern="%d{yyyy-MM-dd'T'HH:mm:ss.SSSX} %-5p %c{1}: %m%n"/>
      <Policies><SizeBasedTriggeringPolicy size="10 MB"/></Policies>
      <DefaultRolloverStrategy max="3"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="file"/></Root>
    <!-- These describe the whole configuration at every start. -->
    <Logger name="org.apache.kafka.common.config" level="WARN"/>
    <Logger name="kafka.server.KafkaConfig" level="WARN"/>
  </Loggers>
</Configuration>
"""
