# The image is the package and the example. No script is run while npm installs: none has anything to do here.
FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node build.ts

FROM node:26-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-slim
ENV NODE_ENV=production ANNALS_HOST=0.0.0.0 ANNALS_DATA=/data
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/node_modules/world-countries ./node_modules/world-countries
COPY --from=build /app/dist ./dist
RUN ln -s /app/dist/server/main.js /usr/local/bin/annals \
  && mkdir --mode=700 /data node_modules/.cache && chown node:node /data node_modules/.cache
USER node
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.ANNALS_PORT ?? 4000) + '/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# A configuration is mounted at /app/annals.config.ts (or .mts, .js, .mjs, .json); without one it is the example.
ENTRYPOINT ["annals"]
CMD ["serve"]
