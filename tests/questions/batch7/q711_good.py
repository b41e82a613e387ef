import torch
from torch import nn

torch.manual_seed(0)


class VAEDecoder(nn.Module):
    def __init__(self, embed=16, latent=4):
        super().__init__()
        self.embed = nn.Linear(6, embed)
        self.to_mean = nn.Linear(embed, latent)
        self.to_log_var = nn.Linear(embed, latent)
        self.decode = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 6))

    def reparameterize(self, mean, log_var):
        return mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)

    def forward(self, intervals, seq_onehots):
        hidden = torch.tanh(self.embed(intervals))
        mean, log_var = self.to_mean(hidden), self.to_log_var(hidden)
        recon = self.decode(self.reparameterize(mean, log_var))
        recon_loss = (recon - intervals).pow(2).sum(-1).unsqueeze(-1) * seq_onehots
        kl_loss = (
            -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp(), dim=-1, keepdim=True)
        ) * seq_onehots
        return recon_loss.sum(-1).mean(), kl_loss.sum(-1).mean()


def make_events(n=512, length=8, marks=3):
    marks_of = torch.randint(0, marks, (n, length))
    centers = 2.0 * torch.randn(marks, 6)
    intervals = centers[marks_of] + 0.2 * torch.randn(n, length, 6)
    return intervals, torch.nn.functional.one_hot(marks_of, marks).float()


def main():
    intervals, onehots = make_events()
    model = VAEDecoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 21):
        recon_sum = kl_sum = 0.0
        for index in torch.randperm(len(intervals)).split(32):
            recon_loss, kl_loss = model(intervals[index], onehots[index])
            loss = recon_loss + 0.1 * kl_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recon_sum += recon_loss.item()
            kl_sum += kl_loss.item()
        if epoch % 5 == 0:
            print(f"epoch {epoch}: reconstruction {recon_sum / 16:.3f} kl {kl_sum / 16:.3f}")


if __name__ == "__main__":
    main()
