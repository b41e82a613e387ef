import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, size=32, styles=4, width=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * size, 64), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(64, width) for _ in range(styles)])

    def forward(self, x):
        h = self.body(x)
        return torch.stack([head(h) for head in self.heads], 1)


class Restyle(nn.Module):
    def __init__(self, size=32, styles=4, width=8):
        super().__init__()
        self.encoder = Encoder(size, styles, width)
        self.decoder = nn.Sequential(nn.Flatten(), nn.Linear(styles * width, size))
        self.latent_avg = nn.Parameter(torch.zeros(styles, width), requires_grad=False)
        for p in self.decoder.parameters():
            p.requires_grad = False

    def forward(self, x, y_hat=None, latent=None):
        y_hat = torch.zeros_like(x) if y_hat is None else y_hat
        latent = self.latent_avg if latent is None else latent
        codes = latent + self.encoder(torch.cat([x, y_hat], 1))
        return self.decoder(codes), codes


class Coach:
    def __init__(self, net, l2_lambda=1.0, id_lambda=0.5, delta_norm_lambda=2e-2, n_iters=3):
        self.net, self.n_iters = net, n_iters
        self.l2_lambda, self.id_lambda, self.delta_norm_lambda = l2_lambda, id_lambda, delta_norm_lambda
        self.optimizer = torch.optim.Adam(net.encoder.parameters(), lr=2e-3)

    def calc_loss(self, x, y, y_hat, latent):
        loss_dict, loss = {}, 0.0
        loss_id = 1 - F.cosine_similarity(y_hat, y).mean()
        loss_dict["id"] = loss_id.item()
        loss += loss_id * self.id_lambda
        loss_l2 = F.mse_loss(y_hat, y)
        loss_dict["l2"] = loss_l2.item()
        loss += loss_l2 * self.l2_lambda
        total_delta_loss = 0
        first_w = latent[:, 0]
        for i in range(1, latent.shape[1]):
            delta = latent[:, i] - first_w
            total_delta_loss += torch.norm(delta, 2, dim=1).mean()
        loss_dict["delta"] = float(total_delta_loss)
        loss = self.delta_norm_lambda * total_delta_loss
        loss_dict["loss"] = loss.item()
        return loss, loss_dict

    def train_step(self, x):
        y_hat, latent = None, None
        for _ in range(self.n_iters):
            if y_hat is not None:
                y_hat, latent = y_hat.detach(), latent.detach()
            y_hat, latent = self.net(x, y_hat, latent)
            loss, loss_dict = self.calc_loss(x, x, y_hat, latent)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss_dict


def main():
    coach = Coach(Restyle())
    mix = torch.randn(8, 32) / 3
    for step in range(150):
        losses = coach.train_step(torch.randn(24, 8) @ mix)
        if step % 50 == 49:
            print(step, {k: round(v, 3) for k, v in losses.items()})


main()
