# {{ series.project }} {{ series.version }}
FILESEXTRAPATHS:prepend := "${THISDIR}/files:"

SRC_URI += " \
{% for patch in patches %}
    file://{{ patch.info.name }}.patch \
{% endfor %}
"
