tickertape_test(unit_net
  SOURCES net/client_frame_test.cpp net/client_url_test.cpp net/host_check_test.cpp net/http_routes_test.cpp
          net/json_test.cpp net/metrics_page_test.cpp net/remote_frame_test.cpp
          net/remote_request_test.cpp net/request_fields_test.cpp
          net/server_frames_test.cpp net/upgrade_test.cpp
  LIBS tickertape_net simdjson::simdjson nlohmann_json::nlohmann_json
  LABELS unit)
