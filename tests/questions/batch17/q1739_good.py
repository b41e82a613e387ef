import torch
import torch.nn as nn
import torch.nn.functional as F


class AutoEncoder(nn.Module):
    def __init__(self, width=30, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 48), nn.Tanh(), nn.Linear(48, latent))
        self.generator = nn.Sequential(nn.Linear(latent, 48), nn.Tanh(), nn.Linear(48, width))


def make_data(n, width=30, factors=10):
    mix = torch.randn(factors, width, generator=torch.Generator().manual_seed(3)) / factors**0.5
    return torch.tanh(torch.randn(n, factors) @ mix) + 0.1 * torch.randn(n, width)


def inconsistency(model, x):
    with torch.no_grad():
        z = model.encoder(x)
        z_hat = model.encoder(model.generator(z))
        return ((z - z_hat).pow(2).mean() / z.var()).item()


def fit(x, x_test, weight, epochs=15):
    torch.manual_seed(1)
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    from_consistency = 0.0
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(50):
            z = model.encoder(x[rows])
            x_hat = model.generator(z)
            frozen = {k: p.detach() for k, p in model.encoder.named_parameters()}
            z_hat = torch.func.functional_call(model.encoder, frozen, (x_hat,))
            consistency = F.mse_loss(z_hat, z)
            to_generator = torch.autograd.grad(
                consistency, list(model.generator.parameters()), retain_graph=True, allow_unused=True
            )
            from_consistency = sum(g.norm().item() for g in to_generator if g is not None)
            loss = F.mse_loss(x_hat, x[rows]) + weight * consistency
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        error = F.mse_loss(model.generator(model.encoder(x_test)), x_test).item()
        spread = model.encoder(x_test).var().item()
    return error, inconsistency(model, x_test), spread, from_consistency


def main():
    torch.manual_seed(0)
    x, x_test = make_data(1200), make_data(400)
    for weight in (0.0, 0.1, 1.0):
        error, off, spread, to_generator = fit(x, x_test, weight)
        print(
            f"weight {weight}: reconstruction {error:.4f}, latent inconsistency {off:.4f}, variance of z {spread:.4f}",
            end="",
        )
        print(f", gradient of the consistency at the generator {to_generator:.6f}")


if __name__ == "__main__":
    main()
