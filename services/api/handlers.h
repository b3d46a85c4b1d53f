/* The handlers, one a route, and the table of them. */
#ifndef TAB_API_HANDLERS_H
#define TAB_API_HANDLERS_H

#include "services/api/api.h"

/* By tab_route_id. */
extern handler *const api_handlers[TAB_ROUTE_COUNT], *const api_at_once_handlers[TAB_ROUTE_COUNT];
handler get_webhooks, post_webhooks, patch_webhook, delete_webhook, post_webhook_rotate, post_webhook_test,
    get_deliveries, post_delivery_replay;
handler get_signin, post_signin, post_signin_complete, post_provider_logout, get_providers, post_providers,
    patch_provider, delete_provider, get_people, patch_person, get_sessions, delete_sessions, get_scim_config,
    get_scim_types, get_scim_schemas, get_scim_users, get_scim_user, put_scim_user, patch_scim_user,
    delete_scim_user, get_scim_groups, get_scim_group, put_scim_group, patch_scim_group, delete_scim_group;
handler get_models, get_keys, post_keys, post_key_rotate, patch_key, delete_key, post_run, get_jobs, get_job,
    post_job_cancel, delete_job, get_reports, get_report, get_usage, get_service_level, get_data_list,
    get_data, get_data_snapshots, get_data_diff, get_data_profile, get_data_stored, post_data_connect,
    post_data_upload, post_uploads, get_upload, put_upload, delete_upload, post_upload_complete,
    post_data_generate, post_data_sync, post_data_pin, post_data_unpin, delete_data, post_endpoints,
    get_endpoints, get_endpoint, post_serve, serve_at_once, post_endpoint_refresh, post_endpoint_upgrade,
    get_endpoint_logs, delete_endpoint, post_outcomes, post_outcomes_forget, get_outcomes, patch_endpoint,
    post_prompts, patch_prompt, delete_prompt, post_report_star, post_report_unstar, get_audit,
    get_notifications, post_notification_read, get_organization, put_organization, get_openapi,
    get_endpoint_openapi, post_session, get_session, delete_session, get_result_part, get_result_filled,
    post_exports, get_export, post_mcp;

#endif
