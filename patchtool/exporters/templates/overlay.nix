# {{ series.project }} {{ series.version }}
final: prev: {
  {{ series.project }} = prev.{{ series.project }}.overridePythonAttrs (old:
    assert (old.version or "{{ series.upstream_version }}") == "{{ series.upstream_version }}";
    {
      patches = (old.patches or [ ]) ++ [
{% for patch in patches %}
        # {{ patch.info.title | line }}
        ./{{ patch.file }}
{% endfor %}
      ];
    });
}
