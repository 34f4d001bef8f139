# The image is the binary, the libraries of Debian that it is linked against, and the certificates of authorities: no shell, no npm.
FROM node:26-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends binutils ca-certificates libatomic1
WORKDIR /app
COPY . .
RUN npm ci --ignore-scripts --no-audit --no-fund && npm run binary && binary/image.sh /image

FROM scratch
COPY --from=build /image/root /
COPY --from=build --chown=10001:10001 /image/annals /
ENV PATH=/usr/local/bin NODE_ENV=production ANNALS_HOST=0.0.0.0 ANNALS_DATA=/data
WORKDIR /app
USER 10001:10001
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["annals", "health"]
# A configuration is mounted at /app/annals.config.ts; without one it is that of `annals init`.
ENTRYPOINT ["annals"]
CMD ["serve"]
