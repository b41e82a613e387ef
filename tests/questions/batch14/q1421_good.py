import torch
import torch.nn as nn
import torch.nn.functional as F

N_SPEAKERS, N_UTTERANCES, FRAMES, MELS = 12, 4, 8, 12


class SpeechEmbedder(nn.Module):
    def __init__(self, hidden=32, proj=16):
        super().__init__()
        self.lstm_stack = nn.LSTM(MELS, hidden, batch_first=True)
        self.projection = nn.Linear(hidden, proj)

    def forward(self, x):
        x, _ = self.lstm_stack(x.float())
        x = x[:, -1]
        x = self.projection(x)
        x = x / torch.norm(x, dim=1, keepdim=True)
        return x


class GE2ELoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(10.0))
        self.b = nn.Parameter(torch.tensor(-5.0))

    def forward(self, embeddings):
        centroids = embeddings.mean(dim=1)
        rest = (embeddings.sum(dim=1, keepdim=True) - embeddings) / (embeddings.size(1) - 1)
        sim = torch.einsum("sud,kd->suk", embeddings, centroids)
        own = (embeddings * rest).sum(-1)
        same = torch.eye(embeddings.size(0), dtype=torch.bool).unsqueeze(1).expand_as(sim)
        sim = torch.where(same, own.unsqueeze(-1).expand_as(sim), sim)
        sim = self.w * sim + self.b
        target = torch.arange(embeddings.size(0)).repeat_interleave(embeddings.size(1))
        return F.cross_entropy(sim.flatten(0, 1), target)


def utterances(speakers, per_speaker, generator):
    voice = VOICES[speakers].unsqueeze(1).unsqueeze(1)
    shape = (len(speakers), per_speaker, FRAMES, MELS)
    content = torch.randn(shape, generator=generator).cumsum(2) * 0.25
    return voice + content + 0.6 * torch.randn(shape, generator=generator)


VOICES = torch.randn(80, MELS, generator=torch.Generator().manual_seed(3)) * 0.8


def identify(embedder, generator):
    speakers = torch.arange(60, 80)
    with torch.no_grad():
        batch = utterances(speakers, 4, generator)
        emb = embedder(batch.flatten(0, 1)).view(len(speakers), 4, -1)
    enrolled, tested = emb[:, :3].mean(1), emb[:, 3]
    hits = (tested @ enrolled.t()).argmax(1) == torch.arange(len(speakers))
    return hits.float().mean().item(), emb.norm(dim=-1).mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    embedder, ge2e_loss = SpeechEmbedder(), GE2ELoss()
    optimizer = torch.optim.SGD([*embedder.parameters(), *ge2e_loss.parameters()], lr=0.1)
    for step in range(250):
        speakers = torch.randperm(60, generator=generator)[:N_SPEAKERS]
        batch = utterances(speakers, N_UTTERANCES, generator)
        embeddings = embedder(batch.flatten(0, 1)).view(N_SPEAKERS, N_UTTERANCES, -1)
        loss = ge2e_loss(embeddings)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(embedder.parameters(), 3.0)
        nn.utils.clip_grad_norm_(ge2e_loss.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step}: loss {loss.item():.3f} (log {N_SPEAKERS} = 2.485)")
    scores = [identify(embedder, generator) for _ in range(5)]
    print(f"length of an embedding: {sum(s[1] for s in scores) / 5:.3f}")
    print(f"new speakers identified (20 candidates): {sum(s[0] for s in scores) / 5:.3f}")


if __name__ == "__main__":
    main()
