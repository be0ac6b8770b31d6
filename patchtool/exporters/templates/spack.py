    # {{ series.project }} {{ series.version }}
{% for patch in patches %}
    # {{ patch.info.title | line }}
    patch("{{ patch.file }}", sha256="{{ patch.sha256 }}", when="@{{ series.upstream_version }}", level=1)
{% endfor %}
