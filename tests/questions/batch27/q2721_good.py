import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(3)

N_SPK, N_UTT, N_MEL, FRAMES = 8, 4, 20, 12
POOL = 40
voices = torch.randn(POOL, N_MEL) * 0.5


def get_batch():
    spk = torch.randperm(POOL)[:N_SPK]
    base = voices[spk][:, None, None, :]
    mel = base + 4.0 * torch.randn(N_SPK, N_UTT, 1, N_MEL) + 0.5 * torch.randn(N_SPK, N_UTT, FRAMES, N_MEL)
    return mel.view(N_SPK * N_UTT, FRAMES, N_MEL)


class SpeakerEncoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.lstm = nn.LSTM(N_MEL, 48, batch_first=True)
        self.proj = nn.Linear(48, dim)

    def forward(self, x):
        out, _ = self.lstm(x)
        return F.normalize(self.proj(out[:, -1]), p=2, dim=1)


class GE2ELoss(nn.Module):
    def __init__(self, init_w=0.2, init_b=-0.5):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(init_w))
        self.b = nn.Parameter(torch.tensor(init_b))

    def calc_new_centroids(self, dvecs, centroids, spkr, utt):
        excl = torch.cat((dvecs[spkr, :utt], dvecs[spkr, utt + 1:]))
        excl = excl.mean(0)
        new_centroids = []
        for i, centroid in enumerate(centroids):
            new_centroids.append(excl if i == spkr else centroid)
        return torch.stack(new_centroids)

    def calc_cosine_sim(self, dvecs, centroids):
        rows = []
        for s in range(dvecs.size(0)):
            row = []
            for u in range(dvecs.size(1)):
                c = self.calc_new_centroids(dvecs, centroids, s, u)
                row.append(F.cosine_similarity(dvecs[s, u].unsqueeze(0), c, dim=1))
            rows.append(torch.stack(row))
        return torch.stack(rows)

    def forward(self, dvecs):
        centroids = dvecs.mean(1)
        cos_sim = self.calc_cosine_sim(dvecs, centroids)
        self.w.data.clamp_(1e-6)
        sim = self.w * cos_sim + self.b
        n, m, _ = sim.shape
        label = torch.arange(n).repeat_interleave(m)
        return F.cross_entropy(sim.view(n * m, n), label), cos_sim


model = SpeakerEncoder()
criterion = GE2ELoss()
optimizer = torch.optim.Adam([
    {'params': model.parameters(), 'lr': 1e-3},
    {'params': criterion.parameters(), 'lr': 1e-1},
])

for step in range(1, 121):
    mel = get_batch()
    optimizer.zero_grad()
    dvec = model(mel).view(N_SPK, N_UTT, -1)
    loss, cos_sim = criterion(dvec)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 3.0)
    optimizer.step()
    if step % 20 == 0:
        own = cos_sim[torch.arange(N_SPK), :, torch.arange(N_SPK)].mean().item()
        print(f'step {step:4d} | loss {loss.item():.4f} | w {criterion.w.item():.3f} | own-speaker sim {own:.3f} '
              f'| all sim {cos_sim.mean().item():.3f}')

with torch.no_grad():
    _, cos_sim = criterion(model(get_batch()).view(N_SPK, N_UTT, -1))
    pred = cos_sim.view(N_SPK * N_UTT, N_SPK).argmax(1)
    label = torch.arange(N_SPK).repeat_interleave(N_UTT)
    print('nearest centroid accuracy', (pred == label).float().mean().item())
