import torch
import torch.nn as nn


def expand_right_as(a, b):
    return a.reshape(a.shape + (1,) * (b.dim() - a.dim()))


class NoiseSchedule:
    def __init__(self, min_log_snr=-12.0, max_log_snr=12.0):
        self.low, self.high = min_log_snr, max_log_snr

    def get_log_snr(self, t):
        return self.high + (self.low - self.high) * t

    def get_alpha_sigma(self, log_snr_t):
        return torch.sqrt(torch.sigmoid(log_snr_t)), torch.sqrt(torch.sigmoid(-log_snr_t))

    def get_weights_for_snr(self, log_snr_t):
        return 60.0 * torch.exp(-0.5 * ((log_snr_t + 6.0) / 0.8) ** 2) + 0.02


class DiffusionModel(nn.Module):
    def __init__(self, dim, conditions, width=64):
        super().__init__()
        self.noise_schedule = NoiseSchedule()
        self.subnet = nn.Sequential(
            nn.Linear(dim + conditions + 1, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, dim),
        )

    def forward(self, diffused, log_snr_t, conditions):
        return self.subnet(torch.cat([diffused, log_snr_t / 12.0, conditions], dim=-1))

    def diffuse(self, x):
        log_snr_t = expand_right_as(self.noise_schedule.get_log_snr(torch.rand(len(x))), x)
        alpha_t, sigma_t = self.noise_schedule.get_alpha_sigma(log_snr_t)
        eps_t = torch.randn_like(x)
        return alpha_t * x + sigma_t * eps_t, eps_t, log_snr_t

    def compute_metrics(self, x, conditions):
        diffused_x, eps_t, log_snr_t = self.diffuse(x)
        noise_pred = self(diffused_x, log_snr_t, conditions)
        weights_for_snr = self.noise_schedule.get_weights_for_snr(log_snr_t)
        loss = weights_for_snr[:, 0] * ((noise_pred - eps_t) ** 2).mean(dim=-1)
        return loss.mean()

    @torch.no_grad()
    def errors(self, x, conditions):
        diffused_x, eps_t, log_snr_t = self.diffuse(x)
        error = ((self(diffused_x, log_snr_t, conditions) - eps_t) ** 2).mean(dim=-1)
        weight = self.noise_schedule.get_weights_for_snr(log_snr_t)[:, 0]
        middle = weight > 10
        return (weight * error).mean(), error[middle].mean(), error[~middle].mean()


def simulate(n):
    theta = torch.randn(n, 3)
    noise = 0.3 * torch.randn(n, 4)
    mixed = torch.stack(
        [theta[:, 0] * theta[:, 1], theta[:, 1] + theta[:, 2] ** 2, theta[:, 2], theta[:, 0]], 1
    )
    return theta, mixed + noise


def main():
    torch.manual_seed(0)
    model = DiffusionModel(3, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    theta, x = simulate(20000)
    for step in range(1, 1501):
        rows = torch.randint(len(theta), (128,))
        loss = model.compute_metrics(theta[rows], x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 300 == 0:
            weighted, middle, rest = model.errors(theta, x)
            print(
                f"step {step:4d}: loss {loss.item():.3f}  weighted error {weighted:.4f}  "
                f"error where the weight is high {middle:.4f}, elsewhere {rest:.4f}"
            )


if __name__ == "__main__":
    main()
