import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

BLANK, PHONES, MELS = 0, 8, 12


class AcousticModel(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(MELS, hidden, bidirectional=True)
        self.out = nn.Linear(2 * hidden, PHONES + 1)

    def forward(self, packed):
        hidden, _ = self.rnn(packed)
        return packed._replace(data=self.out(hidden.data))


def utterances(n, generator):
    templates = 1.5 * torch.randn(PHONES + 1, MELS, generator=torch.Generator().manual_seed(5))
    spoken, written = [], []
    for _ in range(n):
        phones = torch.randint(1, PHONES + 1, (int(torch.randint(3, 6, (1,), generator=generator)),), generator=generator)
        lengths = torch.randint(2, 5, (len(phones),), generator=generator)
        frames = templates[phones].repeat_interleave(lengths, dim=0)
        spoken.append(frames + 0.4 * torch.randn(frames.shape, generator=generator))
        written.append(phones)
    return spoken, written


def wrap_ctc(criterion, packed_predictions, targets):
    predictions, lengths = pad_packed_sequence(packed_predictions)
    predictions = predictions.log_softmax(dim=2)
    target_lengths = torch.tensor([len(t) for t in targets])
    return criterion(predictions, pad_sequence(targets, batch_first=True), lengths, target_lengths)


def decode(packed_predictions):
    predictions, lengths = pad_packed_sequence(packed_predictions)
    found = []
    for i, n in enumerate(lengths):
        path = torch.unique_consecutive(predictions[:n, i].argmax(1))
        found.append(path[path != BLANK])
    return found


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    spoken, written = utterances(400, generator)
    model = AcousticModel()
    criterion = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        total = 0.0
        for rows in torch.randperm(len(spoken), generator=generator).split(20):
            frames = [spoken[i] for i in rows]
            targets = [written[i] for i in rows]
            lengths = torch.tensor([len(f) for f in frames])
            packed = pack_padded_sequence(pad_sequence(frames), lengths, enforce_sorted=False)
            out = model(packed)
            loss = wrap_ctc(criterion, out, targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item() / 20
        right = sum(len(a) == len(b) and bool((a == b).all()) for a, b in zip(decode(out), targets))
        print(f"epoch {epoch}: loss {total:.4f}  right utterances in the last batch {right}/20")


if __name__ == "__main__":
    main()
