import torch
import torch.nn as nn

torch.manual_seed(5)
N_GENES = 20


def cohort(n, gen):
    omic = torch.randn(n, N_GENES, generator=gen)
    log_rate = 1.5 * torch.tanh(omic[:, 0] + omic[:, 1]) + 0.8 * omic[:, 2]
    log_leave = 2.2 * omic[:, 3] - 1.0 * omic[:, 0] + 0.6
    death = -torch.log(torch.rand(n, generator=gen).clamp(1e-6, 0.999999)) / log_rate.exp()
    leave = -torch.log(torch.rand(n, generator=gen).clamp(1e-6, 0.999999)) / log_leave.exp()
    survtime = torch.minimum(death, leave)
    observed = (death <= leave).float().unsqueeze(1)
    return omic, survtime, observed, log_rate


class OmicNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(N_GENES, 64), nn.ELU(),
            nn.Linear(64, 32), nn.ELU(),
        )
        self.classifier = nn.Linear(32, 1)

    def forward(self, omic):
        return self.classifier(self.encoder(omic))


def cox_loss(survtime, observed, hazard_pred):
    at_risk = (survtime.unsqueeze(0) >= survtime.unsqueeze(1)).float()
    theta = hazard_pred.reshape(-1)
    exp_theta = torch.exp(theta)
    log_risk = torch.log(torch.sum(exp_theta * at_risk, dim=1))
    return -torch.mean((theta - log_risk) * observed)


@torch.no_grad()
def rank_agreement(model, omic, log_rate):
    model.eval()
    hazard = model(omic).reshape(-1)
    higher = log_rate[:, None] > log_rate[None, :]
    return (hazard[:, None] > hazard[None, :])[higher].float().mean().item()


gen = torch.Generator().manual_seed(21)
omic, survtime, observed, log_rate = cohort(1500, gen)
omic_test, _, _, rate_test = cohort(600, gen)
print(f"observed deaths {observed.mean().item():.2f}")

model = OmicNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=4e-4)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 1.0 - max(0, e - 15) / 16)

for epoch in range(30):
    model.train()
    running = 0.0
    batches = torch.randperm(len(omic)).split(125)
    for idx in batches:
        pred = model(omic[idx])
        loss = cox_loss(survtime[idx], observed[idx], pred)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: loss {running / len(batches):.4f}")

print(f"rank agreement with the true hazard: train {rank_agreement(model, omic, log_rate):.4f}"
      f"  test {rank_agreement(model, omic_test, rate_test):.4f}")
