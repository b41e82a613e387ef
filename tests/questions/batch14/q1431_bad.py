import torch
import torch.nn as nn
import torch.nn.functional as F

CONTEXT, HORIZON, TOLERANCE = 24, 8, 1e-6


def revin(x, mu, sigma, reverse=False):
    mu, sigma = mu.unsqueeze(-1), sigma.unsqueeze(-1)
    if reverse:
        return x * sigma + mu
    safe_sigma = torch.where(sigma < TOLERANCE, torch.ones_like(sigma), sigma)
    return (x - mu) / safe_sigma


class Forecaster(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.tokenizer = nn.Linear(CONTEXT + HORIZON, hidden)
        self.residual = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.horizon_head = nn.Linear(hidden, HORIZON)

    def forward(self, context, covariate):
        mu = context.mean(-1)
        sigma = context.std(-1, unbiased=False)
        normed = revin(context, mu, sigma)
        hidden = self.residual(self.tokenizer(torch.cat([normed, covariate], -1)))
        return revin(self.horizon_head(hidden), mu, sigma, reverse=True)


def make_batch(n, generator):
    """Half of the sensors oscillate, half are idle; at a known time a heater adds a ramp."""
    t = torch.arange(CONTEXT + HORIZON) / 6.0
    phase = 6.283 * torch.rand(n, 1, generator=generator)
    level = torch.randint(1, 9, (n, 1), generator=generator).float()
    idle = torch.arange(n).unsqueeze(1) % 2 == 0
    series = level + torch.where(idle, torch.zeros(()), torch.sin(6.283 * t / 2 + phase))
    switch = torch.randint(0, HORIZON + 4, (n, 1), generator=generator)
    heater = (torch.arange(HORIZON).unsqueeze(0) >= switch).float()
    future = series[:, CONTEXT:] + 0.4 * heater.cumsum(1)
    return series[:, :CONTEXT], heater, future, idle.squeeze(1)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    test = make_batch(400, generator)
    for step in range(300):
        context, covariate, future, _ = make_batch(64, generator)
        loss = F.mse_loss(model(context, covariate), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 59:
            context, covariate, future, idle = test
            with torch.no_grad():
                forecast = model(context, covariate)
            mae = (forecast - future).abs()
            spread = (forecast.max(1).values - forecast.min(1).values)[idle].mean().item()
            print(
                f"step {step}: mae active {mae[~idle].mean().item():.3f} idle {mae[idle].mean().item():.3f}, "
                f"range of a forecast for idle sensors {spread:.3f}"
            )


if __name__ == "__main__":
    main()
