import torch
import torch.nn as nn


class Flip(nn.Module):
    def forward(self, x, reverse=False):
        x = torch.flip(x, [1])
        return x if reverse else (x, torch.zeros(len(x)))


class MonoFlowLayer(nn.Module):
    def __init__(self, channels, hidden=32):
        super().__init__()
        self.half = channels // 2
        self.pre_transformer = nn.Sequential(nn.Linear(self.half, hidden), nn.Tanh())
        self.post = nn.Linear(hidden, channels)
        nn.init.zeros_(self.post.weight)
        nn.init.zeros_(self.post.bias)

    def forward(self, x, reverse=False):
        x0, x1 = torch.split(x, [self.half, self.half], 1)
        m, logs = torch.split(self.post(self.pre_transformer(x0)), [self.half, self.half], 1)
        if not reverse:
            x1 = m + x1 * torch.exp(logs)
            x_ = torch.cat([x0, x1], 1)
            logdet = torch.sum(logs, [1])
            return x, logdet
        x1 = (x1 - m) * torch.exp(-logs)
        return torch.cat([x0, x1], 1)


class CouplingBlock(nn.Module):
    def __init__(self, channels=2, n_flows=6):
        super().__init__()
        self.flows = nn.ModuleList()
        for _ in range(n_flows):
            self.flows.append(MonoFlowLayer(channels))
            self.flows.append(Flip())

    def forward(self, x, reverse=False):
        if reverse:
            for flow in reversed(self.flows):
                x = flow(x, reverse=True)
            return x
        logdet_tot = 0.0
        for flow in self.flows:
            x, logdet = flow(x)
            logdet_tot = logdet_tot + logdet
        return x, logdet_tot


def make_data(n):
    angle = 3.1416 * torch.rand(n)
    x = torch.stack([torch.cos(angle), torch.sin(angle)], 1) + 0.1 * torch.randn(n, 2)
    return (x - torch.tensor([0.0, 0.64])) * 1.8


def main():
    torch.manual_seed(0)
    flow = CouplingBlock()
    optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3)
    for step in range(240):
        z, logdet = flow(make_data(128))
        loss = torch.mean(0.5 * z.pow(2).sum(1) + 1.8379 - logdet)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 48 == 47:
            print(f"step {step}: nll {loss.item():.3f}")
    with torch.no_grad():
        data = make_data(1000)
        sample = flow(torch.randn(1000, 2), reverse=True)
        back = flow(flow(data)[0], reverse=True)
        print(f"round trip error {(back - data).abs().mean().item():.4f}")
        nearest = torch.cdist(sample, data).min(dim=1).values
        print(f"std of data {data.std(0).tolist()}, of samples {sample.std(0).tolist()}")
        print(f"distance of a sample to the data {nearest.mean().item():.4f}")


if __name__ == "__main__":
    main()
