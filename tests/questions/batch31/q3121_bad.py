import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class LPBNNLinear(nn.Module):
    def __init__(self, in_features, out_features, hidden=12, latent=4):
        super().__init__()
        self.weight = nn.Linear(in_features, out_features)
        self.alpha = nn.Parameter(torch.ones(4, in_features) + 0.3 * torch.randn(4, in_features))
        self.encoder_fc1 = nn.Linear(in_features, hidden)
        self.encoder_fcmean = nn.Linear(hidden, latent)
        self.encoder_fcvar = nn.Linear(hidden, latent)
        self.decoder_fc1 = nn.Linear(latent, hidden)
        self.decoder_fcmean = nn.Linear(hidden, in_features)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        embedded = F.relu(self.encoder_fc1(self.alpha))
        embedded_mean, embedded_logvar = self.encoder_fcmean(embedded), self.encoder_fcmean(embedded)
        z = self.reparameterize(embedded_mean, embedded_logvar)
        alpha_decode = self.decoder_fcmean(F.relu(self.decoder_fc1(z)))
        mse = F.mse_loss(alpha_decode, self.alpha)
        kld = -0.5 * torch.mean(1 + embedded_logvar - embedded_mean ** 2 - embedded_logvar.exp())
        self.lp_loss, self.std = mse + 0.01 * kld, torch.exp(0.5 * embedded_logvar).detach()
        per = x.size(0) // 4
        scale = alpha_decode.repeat_interleave(per, 0)
        return self.weight(x * scale)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = LPBNNLinear(16, 64)
        self.fc2 = LPBNNLinear(64, 5)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))

    def lp_loss(self):
        return self.fc1.lp_loss + self.fc2.lp_loss


centres = torch.randn(5, 16)
y = torch.randint(5, (2000,))
x = centres[y] + 0.9 * torch.randn(2000, 16)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(15):
    net.train()
    total = lp = 0.0
    for idx in torch.randperm(1600).split(64):
        xb, yb = x[idx].repeat(4, 1), y[idx].repeat(4)
        out = net(xb)
        loss = F.cross_entropy(out, yb) + net.lp_loss()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 25
        lp += net.lp_loss().item() / 25
    if epoch % 3 == 2:
        net.eval()
        with torch.no_grad():
            prob = net(x[1600:].repeat(4, 1)).softmax(1).view(4, 400, 5).mean(0)
            acc = (prob.argmax(1) == y[1600:]).float().mean()
        print(f"epoch {epoch}  loss {total:.4f}  vae part {lp:.4f}  mean sigma {net.fc2.std.mean():.3f}  test acc {acc:.3f}")
