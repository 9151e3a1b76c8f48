"""What can be chosen above the panels, the conditions these choices become, and where a click leads."""

from typing import Final

from tachograph.deploy.grafana.dashboard import Variable, uid
from tachograph.deploy.grafana.panel import Column

IS_TENANT: Final = "tenant_id = ${tenant:sqlstring}"
IS_AGENT: Final = "$__conditionalAll(agent_id IN (${agent:sqlstring}), $agent)"
IS_ENVIRONMENT: Final = "$__conditionalAll(environment IN (${environment:sqlstring}), $environment)"

NOT_BY_ENVIRONMENT: Final = "Of every environment: the rollups do not tell them apart."

TENANT: Final = Variable(
    name="tenant",
    label="Tenant",
    sql="SELECT DISTINCT tenant_id FROM agent_runs ORDER BY tenant_id",
)
_AGENTS: Final = (
    f"SELECT DISTINCT agent_id FROM agent_runs WHERE {IS_TENANT} AND $__timeFilter(occurred_at) ORDER BY agent_id"
)
AGENTS: Final = Variable(name="agent", label="Agent", sql=_AGENTS, many=True)
AGENT: Final = Variable(name="agent", label="Agent", sql=_AGENTS)
ENVIRONMENT: Final = Variable(
    name="environment",
    label="Environment",
    sql=f"SELECT DISTINCT environment FROM agent_runs WHERE {IS_TENANT} AND environment != '' ORDER BY environment",
    many=True,
)
TRACE: Final = Variable(name="trace", label="Trace")
CONSOLE: Final = Variable(name="console", label="Web console", text="http://127.0.0.1:8642")

_KEPT: Final = "var-tenant=${tenant:percentencode}&var-console=${console:percentencode}&${__url_time_range}"

TO_RUN: Final = Column(link="${console}/run?id=${__value.text:percentencode}", link_title="Show in the web console")
TO_TRACE: Final = Column(
    link=(
        f"/d/{uid('agent')}?var-trace=${{__value.text:percentencode}}"
        f"&var-agent=${{__data.fields.agent_id:percentencode}}&{_KEPT}"
    ),
    link_title="Show the trace",
)
TO_AGENT: Final = Column(
    link=f"/d/{uid('agent')}?var-agent=${{__value.text:percentencode}}&{_KEPT}", link_title="Show the agent"
)
TO_OBJECTIVE: Final = Column(
    link="${console}/slo?name=${__value.text:percentencode}", link_title="Show in the web console"
)
